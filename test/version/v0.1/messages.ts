import { create } from "@bufbuild/protobuf";
import { PartSchema, Role, type SendMessageRequest, SendMessageRequestSchema } from "../../../src/protocol/model.js";

const hello = { role: Role.USER, parts: [create(PartSchema, { content: { case: "text", value: "hello" } })] };

/** A send with a one-word message. */
export function message(more: object = {}, returnImmediately = false): SendMessageRequest {
  return create(SendMessageRequestSchema, {
    message: { ...hello, messageId: "m", ...more },
    configuration: { returnImmediately },
  });
}
