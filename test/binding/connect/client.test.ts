import { type Message as AnyMessage, create, equals } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createConnectTransport } from "../../../src/binding/connect/client.js";
import type { CallOptions, ServerContext } from "../../../src/protocol/context.js";
import { A2AError, ConnectionError, errorCodes } from "../../../src/protocol/errors.js";
import {
  invokeStream,
  invokeUnary,
  type Operation,
  type Operations,
  operations,
  type StreamItem,
} from "../../../src/protocol/operations.js";
import { connectAgent } from "../../support/connect-agent.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { adapter } from "../../support/grpc-agent.js";
import { itemsOf } from "../../support/items.js";
import { getTask, hello } from "../../support/requests.js";
import { validRequest } from "../../support/valid-request.js";

const protocols = ["connect", "grpc-web"] as const;

function replyOf({ name, output }: Operation): AnyMessage {
  return name === "sendMessage" ? echo(hello) : create(output);
}

/** A handler of one operation that records its requests. */
function noting(operation: Operation, requests: AnyMessage[]): Partial<Operations<ServerContext>> {
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

const withoutIds = (items: readonly StreamItem[]) => items.map(({ response }) => response);

/** A stream of one event that waits until its caller disconnects, and reports it. */
function waiting() {
  const left = Promise.withResolvers<void>();
  async function* stream(_: unknown, { signal }: ServerContext): AsyncGenerator<StreamItem> {
    yield statusItem(1);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    left.resolve();
  }
  return { left: left.promise, stream };
}

describe.each(protocols)("over %s", (protocol) => {
  const clientOf = (url: string, more: { headers?: Record<string, string>; fetch?: typeof fetch } = {}) =>
    createConnectTransport({ url, adapter, protocol, ...more });

  it.each(operations)("$name carries its request and its reply over Connect", async (operation) => {
    const requests: AnyMessage[] = [];
    await using agent = await connectAgent(serviceOf(noting(operation, requests)));
    const request = validRequest(operation.name);
    const client = clientOf(agent.url);
    if (operation.streams) {
      const items = await itemsOf(invokeStream<CallOptions>(client, operation, request, {}));
      expect(withoutIds(items)).toEqual(withoutIds([statusItem(1), statusItem(2)]));
    } else {
      const answer = await invokeUnary<CallOptions>(client, operation, request, {});
      expect(equals(operation.output, answer, replyOf(operation))).toBe(true);
    }
    expect(requests).toEqual([request]);
    expect(agent.faults).toEqual([]);
  });

  it.each(errorCodes)("the error %s arrives complete, as a Connect answer and at the end of a stream", async (code) => {
    const challenge = code === "unauthenticated" || code === "permissionDenied" ? 'Bearer realm="x"' : undefined;
    const error = new A2AError(code, "näh: 100 %\n no", {
      violations: [{ field: "message.parts[0]", description: "is odd" }],
      metadata: { taskId: "t", more: "ä" },
      retryAfterMs: 1500,
      challenge,
    });
    const { message, violations, metadata, retryAfterMs } = error;
    const expected = { name: "A2AError", code, message, violations, metadata, retryAfterMs, challenge };
    await using agent = await connectAgent(
      serviceOf({
        sendMessage: () => Promise.reject(error),
        async *sendStreamingMessage() {
          yield statusItem(1);
          throw error;
        },
      }),
    );
    const client = clientOf(agent.url);
    await expect(client.sendMessage(hello, {})).rejects.toMatchObject(expected);
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of client.sendStreamingMessage(hello, {})) items.push(item);
    })();
    await expect(reading).rejects.toMatchObject(expected);
    expect(withoutIds(items)).toEqual(withoutIds([statusItem(1)]));
  });

  it("the Connect client sends the agent what its options set", async () => {
    const contexts: object[] = [];
    await using agent = await connectAgent(
      serviceOf(
        {
          async *subscribeToTask(_, { version, extensions, after, principal }) {
            contexts.push({ version, extensions, after, principal });
          },
        },
        {
          authenticate: ({ header }) => ({
            principal: { owner: ["x-both", "x-own", "user-agent"].map(header).join(" ") },
          }),
        },
      ),
    );
    const client = clientOf(`${agent.url}//`, { headers: { "X-Both": "shared", "x-own": "no", "User-Agent": "me" } });
    const options: CallOptions = { extensions: ["urn:known:1", "urn:b"], after: "7", headers: { "X-Own": "yes" } };
    await itemsOf(client.subscribeToTask(validRequest("subscribeToTask"), options));
    const principal = { owner: "shared yes me" };
    expect(contexts).toEqual([{ version: "1.0", extensions: ["urn:known:1"], after: "7", principal }]);
  });

  it("the Connect client adds the query of a call to the URL, and uses the fetch that it was given", async () => {
    const urls: string[] = [];
    await using agent = await connectAgent(serviceOf({ sendMessage: async (request) => echo(request) }));
    const client = clientOf(agent.url, {
      fetch: (input, init) => {
        urls.push(String(input));
        return fetch(input, init);
      },
    });
    expect(await client.sendMessage(hello, { query: { key: "a b" } })).toEqual(echo(hello));
    expect(urls).toEqual([`${agent.url}/lf.a2a.v1.A2AService/SendMessage?key=a+b`]);
  });

  it.each([
    [20, "20"],
    [99_999_999, "99999999"],
    [100_000_000, null],
  ])(
    "the Connect client sends the agent its timeout of %i ms, unless there is no limit",
    async (timeoutMs, expectedLimit) => {
      let limit: string | null | undefined;
      const client = clientOf("http://agent.example", {
        fetch: async (_, init) => {
          const headers = new Headers(init?.headers);
          limit = headers.get("connect-timeout-ms") ?? headers.get("grpc-timeout");
          throw new TypeError("nowhere");
        },
      });
      await expect(client.getTask(getTask, { timeoutMs })).rejects.toMatchObject({ code: "unavailable" });
      expect(limit).toBe(protocol === "grpc-web" && expectedLimit !== null ? `${expectedLimit}m` : expectedLimit);
    },
  );

  it("the Connect client keeps its time limit against an agent that never answers", async () => {
    await using agent = await connectAgent(
      serviceOf({ getTask: () => new Promise(() => {}), sendStreamingMessage: waiting().stream }),
    );
    const client = clientOf(agent.url);
    await expect(client.getTask(getTask, { timeoutMs: 50 })).rejects.toMatchObject({ code: "deadlineExceeded" });
    const events = itemsOf(client.sendStreamingMessage(hello, { timeoutMs: 50 }));
    await expect(events).rejects.toMatchObject({ code: "deadlineExceeded" });
  });

  it("a Connect call fails at once when its signal has aborted before", async () => {
    await using agent = await connectAgent(serviceOf({}));
    const client = clientOf(agent.url);
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(client.getTask(getTask, { signal })).rejects.toThrow("too late");
    await expect(itemsOf(client.sendStreamingMessage(hello, { signal }))).rejects.toThrow("too late");
  });

  it("a Connect call rejects with the abort reason, and aborts the operation", async () => {
    const abortNotice = Promise.withResolvers<void>();
    const controller = new AbortController();
    await using agent = await connectAgent(
      serviceOf({
        sendMessage(_, { signal }) {
          signal.addEventListener("abort", () => abortNotice.resolve());
          controller.abort("enough");
          return new Promise(() => {});
        },
      }),
    );
    await expect(clientOf(agent.url).sendMessage(hello, { signal: controller.signal })).rejects.toBe("enough");
    await abortNotice.promise;
  });

  it("a Connect stream ends with the abort reason, and aborts the operation", async () => {
    const { left, stream } = waiting();
    const controller = new AbortController();
    await using agent = await connectAgent(serviceOf({ sendStreamingMessage: stream }));
    const reading = (async () => {
      const { signal } = controller;
      for await (const _ of clientOf(agent.url).sendStreamingMessage(hello, { signal })) controller.abort("enough");
    })();
    await expect(reading).rejects.toBe("enough");
    await left;
  });

  it("a Connect stream lets a reader leave, also while it waits for the next event", async () => {
    const [first, second] = [waiting(), waiting()];
    await using agent = await connectAgent(
      serviceOf({ sendStreamingMessage: first.stream, subscribeToTask: second.stream }),
    );
    const client = clientOf(agent.url);
    for await (const _ of client.sendStreamingMessage(hello, {})) break;
    await first.left;
    const events = client.subscribeToTask(validRequest("subscribeToTask"), {})[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    await events.return?.();
    expect(await next).toMatchObject({ done: true });
    await second.left;
  });

  it("a Connect stream brings every event in order, however many are ready at once", async () => {
    const count = 3000;
    await using agent = await connectAgent(
      serviceOf({
        async *sendStreamingMessage() {
          for (let number = 0; number < count; number++) yield statusItem(number);
        },
      }),
    );
    const responses = withoutIds(await itemsOf(clientOf(agent.url).sendStreamingMessage(hello, {})));
    expect(responses).toEqual(Array.from({ length: count }, (_, number) => statusItem(number).response));
  });

  it("a Connect call reports that no request was written when no server listens", async () => {
    const agent = await connectAgent(serviceOf({}));
    await agent[Symbol.asyncDispose]();
    const client = clientOf(agent.url);
    const calls = [client.getTask(getTask, {}), itemsOf(client.sendStreamingMessage(hello, {}))];
    for (const call of calls) {
      const error: unknown = await call.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ code: "unavailable", written: false });
    }
  });

  it("the Connect client refuses an operation that its version does not have", async () => {
    const few = { ...adapter, methods: new Map([...adapter.methods].slice(0, 1)) };
    const client = createConnectTransport({ url: "http://agent.example", adapter: few, protocol });
    await expect(client.getTask(getTask, {})).rejects.toMatchObject({ code: "unsupportedOperation" });
    const events = itemsOf(client.subscribeToTask(validRequest("subscribeToTask"), {}));
    await expect(events).rejects.toMatchObject({ code: "unsupportedOperation" });
  });
});

it("the Connect client speaks Connect by default, and has every operation of the table", async () => {
  await using agent = await connectAgent(serviceOf({ sendMessage: async (request) => echo(request) }));
  const client = createConnectTransport({ url: agent.url, adapter });
  expect(await client.sendMessage(hello, {})).toEqual(echo(hello));
  expect(new Set(Object.keys(client))).toEqual(new Set(operations.map(({ name }) => name)));
});
