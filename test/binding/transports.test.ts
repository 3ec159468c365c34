import { type Message as AnyMessage, create, equals } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { CallOptions, ServerContext } from "../../src/protocol/context.js";
import { A2AError, type ErrorCode, errorCodes } from "../../src/protocol/errors.js";
import {
  invokeStream,
  invokeUnary,
  type Operation,
  type Operations,
  operations,
  type StreamItem,
} from "../../src/protocol/operations.js";
import { echo, serviceOf, statusItem } from "../support/echo-service.js";
import { httpAgent, httpBindings } from "../support/http-agent.js";
import { itemsOf } from "../support/items.js";
import { validRequest } from "../support/valid-request.js";

const send = validRequest("sendMessage");

function replyOf({ name, output }: Operation): AnyMessage {
  return name === "sendMessage" ? echo(send) : create(output);
}

/** A handler of one operation that records its requests. */
function recording(operation: Operation, requests: AnyMessage[]): Partial<Operations<ServerContext>> {
  async function* stream(request: AnyMessage): AsyncGenerator<StreamItem> {
    requests.push(request);
    yield statusItem(1);
    yield statusItem(2);
  }
  const unary = async (request: AnyMessage): Promise<AnyMessage> => {
    requests.push(request);
    return replyOf(operation);
  };
  return { [operation.name]: operation.streams ? stream : unary };
}

/** JSON-RPC uses one code for an unreadable body and for an unsupported content type. */
function arriving(binding: string, code: ErrorCode): { readonly code: ErrorCode; readonly message: string } {
  return binding === "JSONRPC" && code === "unsupportedMediaType"
    ? { code: "contentTypeNotSupported", message: "Incompatible content types: just so" }
    : { code, message: "just so" };
}

describe.each(httpBindings)("over %s", (binding) => {
  // Requirements: V1-EQ-1
  it.each(operations)("$name carries its request and its reply over every transport", async (operation) => {
    const requests: AnyMessage[] = [];
    await using served = await httpAgent(serviceOf(recording(operation, requests)));
    const request = validRequest(operation.name);
    const client = served.clients[binding];
    if (operation.streams) {
      const items = await itemsOf(invokeStream<CallOptions>(client, operation, request, {}));
      expect(items).toEqual([statusItem(1), statusItem(2)]);
    } else {
      const answer = await invokeUnary<CallOptions>(client, operation, request, {});
      expect(equals(operation.output, answer, replyOf(operation))).toBe(true);
    }
    expect(requests).toEqual([request]);
  });

  // Requirements: V1-ERR-17
  it.each(errorCodes)("the error %s survives the round trip over every transport", async (code) => {
    const error = new A2AError(code, "just so", {
      violations: [{ field: "message.parts[0]", description: "is odd" }],
      metadata: { taskId: "t" },
      retryAfterMs: 2000,
      challenge: code === "unauthenticated" || code === "permissionDenied" ? 'Bearer realm="x"' : undefined,
    });
    await using served = await httpAgent(serviceOf({ sendMessage: () => Promise.reject(error) }));
    const got = await served.clients[binding].sendMessage(send, {}).catch((caught: unknown) => caught);
    expect(got).toBeInstanceOf(A2AError);
    const { violations, metadata, retryAfterMs, challenge } = error;
    expect(got).toMatchObject({ ...arriving(binding, code), violations, metadata, retryAfterMs, challenge });
  });

  it.each(errorCodes)("the error %s before the first event is a unary error, after it an event", async (code) => {
    await using served = await httpAgent(
      serviceOf({
        async *sendStreamingMessage({ metadata }) {
          if (metadata?.["late"] === true) yield statusItem(1);
          throw new A2AError(code, "just so");
        },
      }),
    );
    const client = served.clients[binding];
    for (const late of [false, true]) {
      const items: StreamItem[] = [];
      const read = async (): Promise<void> => {
        for await (const item of client.sendStreamingMessage({ ...send, metadata: { late } }, {})) items.push(item);
      };
      await expect(read()).rejects.toMatchObject(arriving(binding, code));
      expect(items).toEqual(late ? [statusItem(1)] : []);
    }
  });

  it("the context of a call has the values of its options", async () => {
    const contexts: object[] = [];
    await using served = await httpAgent(
      serviceOf(
        {
          async *subscribeToTask(_, { binding: came, version, extensions, after, principal }) {
            contexts.push({ came, version, extensions, after, principal });
            yield statusItem(8);
          },
        },
        {
          authenticate: ({ header, binding: came }) => ({
            principal: { owner: `${came} ${header("x-key")} ${header("nothing")}` },
          }),
        },
      ),
    );
    const options: CallOptions = { extensions: ["urn:known:1", "urn:b"], after: "7", headers: { "X-Key": "k" } };
    await itemsOf(served.clients[binding].subscribeToTask(validRequest("subscribeToTask"), options));
    const principal = { owner: `${binding} k undefined` };
    expect(contexts).toEqual([{ came: binding, version: "1.0", extensions: ["urn:known:1"], after: "7", principal }]);
  });

  it("a deadline that passes is reported as such", async () => {
    await using served = await httpAgent(serviceOf({ sendMessage: () => new Promise(() => {}) }));
    const call = served.clients[binding].sendMessage(send, { timeoutMs: 20 });
    await expect(call).rejects.toMatchObject({ code: "deadlineExceeded" });
  });

  it("the reason of an abort is passed on, and the operation's signal aborts", async () => {
    const controller = new AbortController();
    const abortNotice = Promise.withResolvers<void>();
    await using served = await httpAgent(
      serviceOf({
        sendMessage(_, { signal }) {
          signal.addEventListener("abort", () => abortNotice.resolve());
          controller.abort("enough");
          return new Promise(() => {});
        },
      }),
    );
    await expect(served.clients[binding].sendMessage(send, { signal: controller.signal })).rejects.toBe("enough");
    await abortNotice.promise;
  });

  it("an agent without a server is unavailable", async () => {
    const served = await httpAgent(serviceOf({}));
    await served[Symbol.asyncDispose]();
    await expect(served.clients[binding].sendMessage(send, {})).rejects.toMatchObject({ code: "unavailable" });
  });
});
