import { create } from "@bufbuild/protobuf";
import { Role, SendMessageRequestSchema } from "../../src/protocol/model.js";
import { findOperation, type RequestOf } from "../../src/protocol/operations.js";

/** A message of one word. */
export const hello: RequestOf<"sendMessage"> = create(SendMessageRequestSchema, {
  message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "hello" } }] },
});

export const getTask: RequestOf<"getTask"> = {
  ...(create(findOperation("getTask").input) as RequestOf<"getTask">),
  id: "t",
};
