import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createStepStream } from "../../../src/protocol/async/steps.js";
import { A2AError } from "../../../src/protocol/errors.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";
import { settledHeap } from "../../support/heap.js";
import { itemsOf } from "../../support/items.js";
import { hello } from "../../support/requests.js";

const responses = (items: readonly StreamItem[]) => items.map(({ response }) => response);

it("a gRPC stream brings every event in order, however many are ready at once", async () => {
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage() {
        for (let number = 0; number < 3000; number++) yield statusItem(number);
      },
    }),
  );
  const answers = responses(await itemsOf(agent.client.sendStreamingMessage(hello, {})));
  expect(answers).toEqual(Array.from({ length: 3000 }, (_, number) => statusItem(number).response));
});

it("a gRPC stream answers steps in the order in which they are asked for", async () => {
  const gate = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage() {
        for (let number = 0; number < 3; number++) yield statusItem(number);
        await gate.promise;
        yield* [statusItem(3), statusItem(4)];
        throw new A2AError("unsupportedOperation", "that was all");
      },
    }),
  );
  const items = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  const answers: unknown[] = [];
  const ask = (count: number): Promise<unknown>[] =>
    Array.from({ length: count }, () =>
      items.next().then(
        ({ value }) => answers.push(value?.response ?? "end"),
        (error: A2AError) => answers.push(error.code),
      ),
    );
  await Promise.all(ask(2));
  const later = ask(6);
  gate.resolve();
  await Promise.all(later);
  const events = Array.from({ length: 5 }, (_, number) => statusItem(number).response);
  expect(answers).toEqual([...events, "unsupportedOperation", "end", "end"]);
});

it("a gRPC stream without events ends", async () => {
  await using agent = await grpcAgent(serviceOf({ async *sendStreamingMessage() {} }));
  expect(await itemsOf(agent.client.sendStreamingMessage(hello, {}))).toEqual([]);
});

it("a gRPC stream brings the events before an error, then the error", async () => {
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage() {
        yield statusItem(1);
        yield statusItem(2);
        throw new A2AError("unsupportedOperation", "that was all");
      },
    }),
  );
  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of agent.client.sendStreamingMessage(hello, {})) items.push(item);
  })();
  await expect(reading).rejects.toMatchObject({ code: "unsupportedOperation", message: "that was all" });
  expect(responses(items)).toEqual(responses([statusItem(1), statusItem(2)]));
});

it("a gRPC stream that waits for its next event keeps no reference to the last one", async () => {
  const gate = Promise.withResolvers<IteratorResult<StreamItem, undefined>>();
  let last: WeakRef<StreamItem> | undefined;
  const step = async (): Promise<IteratorResult<StreamItem, undefined>> => {
    if (last !== undefined) return gate.promise;
    const item = statusItem(1);
    last = new WeakRef(item);
    return { done: false, value: item };
  };
  const stream = createStepStream(step, async () => {});
  await using agent = await grpcAgent(serviceOf({ sendStreamingMessage: () => stream }));
  const items = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  expect((await items.next()).value?.response).toEqual(statusItem(1).response);
  await setImmediate();
  settledHeap();
  expect(last?.deref()).toBeUndefined();
  gate.resolve({ done: true, value: undefined });
  expect((await items.next()).done).toBe(true);
});

/** An endless stream that counts the items taken and reports its release. */
function endless() {
  const ended = Promise.withResolvers<void>();
  const state = { itemCount: 0, ended: ended.promise };
  const stream = async function* (): AsyncGenerator<StreamItem> {
    try {
      for (;;) {
        state.itemCount += 1;
        yield statusItem(state.itemCount);
      }
    } finally {
      ended.resolve();
    }
  };
  return { state, stream };
}

it("the gRPC server stops reading the subscription of a peer that does not read, and nothing else", async () => {
  const { state, stream } = endless();
  await using agent = await grpcAgent(
    serviceOf({ sendStreamingMessage: stream, sendMessage: async (request) => echo(request) }),
  );
  const slow = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  await slow.next();
  let before = -1;
  while (before !== state.itemCount) {
    before = state.itemCount;
    // Each reply shows that the connection works while one of its streams waits.
    for (let call = 0; call < 20; call++) await agent.client.sendMessage(hello, {});
  }
  const stopped = state.itemCount;
  for (let read = 0; read < stopped; read++) await slow.next();
  expect((await slow.next()).value.response).toEqual(statusItem(stopped + 2).response);
  expect(state.itemCount).toBeGreaterThan(stopped);
  await slow.return?.();
  await state.ended;
});

it.each(["return", "abort", "deadline"] as const)(
  "the gRPC server releases the subscription of a caller that leaves by %s",
  async (how) => {
    const { state, stream } = endless();
    const left = Promise.withResolvers<unknown>();
    await using agent = await grpcAgent(
      serviceOf({
        sendMessage: async (request) => echo(request),
        sendStreamingMessage(_, { signal }) {
          signal.addEventListener("abort", () => left.resolve(signal.reason));
          return stream();
        },
      }),
    );
    const controller = new AbortController();
    // Opens the connection first, so that the timeout covers only the call.
    await agent.client.sendMessage(hello, {});
    const timeoutMs = how === "deadline" ? 300 : undefined;
    const reading = (async () => {
      for await (const _ of agent.client.sendStreamingMessage(hello, { signal: controller.signal, timeoutMs })) {
        if (how === "return") return "returned";
        if (how === "abort") controller.abort(new Error("enough"));
      }
      return "ended";
    })();
    const outcome = await reading.catch((error: unknown) => error);
    if (how === "return") expect(outcome).toBe("returned");
    if (how === "abort") expect(outcome).toMatchObject({ message: "enough" });
    if (how === "deadline") expect(outcome).toMatchObject({ code: "deadlineExceeded" });
    await state.ended;
    const reason = await left.promise;
    if (how === "deadline") expect(reason).toMatchObject({ code: "deadlineExceeded" });
  },
);

it("the gRPC server releases a subscription that waits for its next event when the caller leaves", async () => {
  const left = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage(_, { signal }) {
        yield statusItem(1);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        left.resolve();
      },
    }),
  );
  for await (const _ of agent.client.sendStreamingMessage(hello, {})) break;
  await left.promise;
});

it("a gRPC stream lets a reader leave while it waits for the next event", async () => {
  const left = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage(_, { signal }) {
        yield statusItem(1);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        left.resolve();
      },
    }),
  );
  const events = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  await events.next();
  const waiting = events.next();
  await events.return?.();
  expect(await waiting).toMatchObject({ done: true });
  await left.promise;
});

it("the gRPC server aborts a unary operation when its caller leaves", async () => {
  const started = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      sendMessage: (request, { signal }) => {
        signal.addEventListener("abort", () => left.resolve());
        started.resolve();
        return left.promise.then(() => echo(request));
      },
    }),
  );
  const controller = new AbortController();
  const call = agent.client.sendMessage(hello, { signal: controller.signal });
  await started.promise;
  controller.abort(new Error("never mind"));
  await expect(call).rejects.toThrow("never mind");
  await left.promise;
});
