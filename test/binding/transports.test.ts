import { type Message as AnyMessage, create, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallOptions, ServerContext } from "../../src/protocol/context.js";
import { A2AError, errorCodes } from "../../src/protocol/errors.js";
import { SendMessageRequestSchema, SendMessageResponseSchema, TaskSchema } from "../../src/protocol/model.js";
import {
  invokeStream,
  invokeUnary,
  type Operations,
  operations,
  type StreamItem,
} from "../../src/protocol/operations.js";
import { arbitraryMessage } from "../support/arbitrary-message.js";
import { echo, serviceOf, statusItem } from "../support/echo-service.js";
import { httpAgent, httpBindings } from "../support/http-agent.js";
import { validRequest } from "../support/valid-request.js";

const rows = httpBindings.flatMap((binding) =>
  operations.map((operation) => ({ binding, operation, name: operation.name })),
);

describe.each(httpBindings)("every operation over %s", (binding) => {
  it.each(rows.filter((row) => row.binding === binding))(
    "$name carries its request and its reply",
    async ({ operation }) => {
      const seen: AnyMessage[] = [];
      const reply = operation.name === "sendMessage" ? echo(validRequest("sendMessage")) : create(operation.output);
      const handler = {
        [operation.name]: operation.streams
          ? async function* (request: AnyMessage): AsyncGenerator<StreamItem> {
              seen.push(request);
              yield statusItem(1);
              yield statusItem(2);
            }
          : async (request: AnyMessage) => {
              seen.push(request);
              return reply;
            },
      } as Partial<Operations<ServerContext>>;
      await using served = await httpAgent(serviceOf(handler));
      const request = validRequest(operation.name);
      const client = served.clients[binding];
      if (operation.streams) {
        const items = await Array.fromAsync(invokeStream<CallOptions>(client, operation, request, {}));
        expect(items).toEqual([statusItem(1), statusItem(2)]);
      } else {
        const answer = await invokeUnary<CallOptions>(client, operation, request, {});
        expect(equals(operation.output, answer, reply)).toBe(true);
      }
      expect(seen).toHaveLength(1);
      expect(equals(operation.input, seen[0] ?? create(operation.input), request)).toBe(true);
    },
  );
});
