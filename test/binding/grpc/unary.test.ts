import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../../src/protocol/model.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";

const hello: SendMessageRequest = create(SendMessageRequestSchema, {
  message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "hello" } }] },
});

it("answers a message with a message", async () => {
  await using agent = await grpcAgent(serviceOf({ sendMessage: async (request) => echo(request) }));
  const reply = await agent.client.sendMessage(hello, {});
  expect(reply.payload.case).toBe("message");
});
