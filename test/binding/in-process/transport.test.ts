import { expect, it } from "vitest";
import { createInProcessTransport, type InProcessOptions } from "../../../src/binding/in-process/transport.js";
import type { CallGate } from "../../../src/binding/service.js";
import { createTransport } from "../../../src/binding/transport.js";
import type { ServerContext } from "../../../src/protocol/context.js";
import { A2AError, ConnectionError } from "../../../src/protocol/errors.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { Task } from "../../../src/protocol/model.js";
import type { Operations, StreamItem } from "../../../src/protocol/operations.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { inPlace } from "../../support/echo-service.js";
import { errorOf, requestOf, say } from "../../support/say.js";

type Handler = Operations<ServerContext>;

/** A handler with the operations that the test defines. */
function handlerOf(some: Partial<Handler>): Handler {
  const base = createTransport({
    unary: () => Promise.reject(new Error("nobody asked for this")),
    async *stream() {},
  }) as unknown as Handler;
  return { ...base, ...some };
}

const over = (some: Partial<Handler>, options: InProcessOptions = {}) =>
  createInProcessTransport(handlerOf(some), options);
const getTask = requestOf("getTask", { id: "t" });
const subscribe = requestOf("subscribeToTask", { id: "t" });
const itemOf = (task: Task): StreamItem => ({
  response: { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } },
  id: "1",
});

it("the in-process transport gives the handler the call's own facts", async () => {
  const contexts: ServerContext[] = [];
  const transport = over(
    {
      getTask: async (_, context) => {
        contexts.push(context);
        return emptyTask("t", "c");
      },
    },
    { principal: { owner: "me" }, headers: { "X-One": "1" } },
  );
  await transport.getTask(getTask, { headers: { "x-Two": "2" }, extensions: ["urn:a", "urn:a"], after: "e" });
  const [context] = contexts;
  expect(context).toMatchObject({
    principal: { owner: "me" },
    binding: "in-process",
    version: "1.0",
    extensions: ["urn:a"],
    after: "e",
  });
  expect([context?.caller?.header("x-one"), context?.caller?.header("x-two")]).toEqual(["1", "2"]);
});

it("the in-process transport refuses a request as a binding does, and the handler never sees it", async () => {
  const transport = over({});
  const error = await errorOf(transport.sendMessage(requestOf("sendMessage", {}), {}));
  expect(error).toMatchObject({ code: "invalidParams", violations: [{ field: "message" }] });
  expect(await errorOf(transport.sendStreamingMessage(requestOf("sendStreamingMessage", {}), {}))).toMatchObject({
    code: "invalidParams",
  });
});

it("the in-process transport gives copies, so that neither side changes what the other holds", async () => {
  const held = emptyTask("t", "c");
  const original = say("as it was");
  const received: unknown[] = [];
  const transport = over({
    getTask: async () => held,
    sendMessage: async (request) => {
      received.push(request);
      if (request.message !== undefined) request.message.messageId = "changed";
      return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "task", value: held } };
    },
    async *subscribeToTask() {
      yield itemOf(held);
    },
  });
  const id = original.message?.messageId;
  await transport.sendMessage(original, {});
  expect(original.message?.messageId).toBe(id);
  (await transport.getTask(getTask, {})).id = "changed";
  for await (const { response } of transport.subscribeToTask(subscribe, {})) {
    if (response.payload.case === "task")
      response.payload.value.history.push(...(original.message ? [original.message] : []));
  }
  expect(held).toEqual(emptyTask("t", "c"));
});

it("an in-process call rejects when its caller aborts, and aborts the handler", async () => {
  const left = Promise.withResolvers<unknown>();
  const transport = over({
    getTask: (_, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => left.resolve(signal.reason), { once: true })),
  });
  const abort = new AbortController();
  const answer = transport.getTask(getTask, { signal: abort.signal });
  await Promise.resolve();
  const reason = new Error("enough");
  abort.abort(reason);
  await expect(answer).rejects.toBe(reason);
  await expect(transport.getTask(getTask, { signal: abort.signal })).rejects.toBe(reason);
});

it("an in-process call ends at its time limit, by the clock that it was given, and leaves no timer", async () => {
  const clock = createTestClock();
  const transport = over(
    { getTask: () => new Promise(() => {}), listTasks: async () => requestOf("listTasks") as never },
    { clock },
  );
  const answer = errorOf(transport.getTask(getTask, { timeoutMs: 100 }));
  await clock.advance(100);
  expect(await answer).toMatchObject({ code: "deadlineExceeded", message: "no answer within 100 ms" });
  expect(clock.pending()).toEqual([]);
});

it("the in-process transport leaves the handler's stream when its reader leaves or its signal aborts", async () => {
  const leave = async (how: "return" | "abort"): Promise<unknown> => {
    const ended = Promise.withResolvers<boolean>();
    const transport = over({
      async *subscribeToTask(_, { signal }) {
        try {
          yield itemOf(emptyTask("t", "c"));
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        } finally {
          ended.resolve(signal.aborted);
        }
      },
    });
    const abort = new AbortController();
    const items = transport.subscribeToTask(subscribe, { signal: abort.signal })[Symbol.asyncIterator]();
    await items.next();
    const next = items.next();
    if (how === "return") {
      await items.return?.();
      expect(await next).toEqual({ done: true, value: undefined });
    } else {
      abort.abort(new Error("enough"));
      await expect(next).rejects.toThrow("enough");
    }
    return ended.promise;
  };
  expect(await leave("return")).toBe(true);
  expect(await leave("abort")).toBe(true);
});

it("the in-process transport leaves the stream at the abort of a reader that handles an event", async () => {
  const ended = Promise.withResolvers<boolean>();
  const transport = over({
    async *subscribeToTask(_, { signal }) {
      try {
        yield itemOf(emptyTask("t", "c"));
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      } finally {
        ended.resolve(signal.aborted);
      }
    },
  });
  const abort = new AbortController();
  const items = transport.subscribeToTask(subscribe, { signal: abort.signal })[Symbol.asyncIterator]();
  await items.next();
  abort.abort(new Error("enough"));
  expect(await ended.promise).toBe(true);
  await expect(items.next()).rejects.toThrow("enough");
});

it("the in-process transport counts an ended stream as closed, even when its reader stops reading", async () => {
  const out = Promise.withResolvers<void>();
  const admission: CallGate = {
    versions: ["1.0"],
    authenticate: () => ({ principal: { owner: "me" } }),
    extensions: () => [],
    enter: () => inPlace({ leave: out.resolve }),
    publicError: () => new A2AError("internalError", "internal error"),
  };
  const transport = over(
    {
      async *subscribeToTask() {
        yield itemOf(emptyTask("t", "c"));
      },
    },
    { admission },
  );
  const items = transport.subscribeToTask(subscribe, {})[Symbol.asyncIterator]();
  await items.next();
  await out.promise;
  expect(await items.next()).toEqual({ done: true, value: undefined });
});

it("the in-process transport passes on the handler's error, and masks any other", async () => {
  const failWith = (error: Error) => errorOf(over({ getTask: () => Promise.reject(error) }).getTask(getTask, {}));
  expect(await failWith(new A2AError("taskNotFound", "no such task", { metadata: { taskId: "t" } }))).toMatchObject({
    code: "taskNotFound",
    metadata: { taskId: "t" },
  });
  expect(await failWith(new Error("the password is x"))).toMatchObject({
    code: "internalError",
    message: "internal error",
  });
  const behind = await failWith(new ConnectionError("the other agent is away", { written: false }));
  expect(behind.code).toBe("unavailable");
  expect(behind).not.toBeInstanceOf(ConnectionError);
});

it("the in-process transport refuses a version that is not served", async () => {
  const error = await errorOf(over({}).getTask(getTask, { headers: { "A2A-Version": "9.9" } }));
  expect(error).toMatchObject({ code: "versionNotSupported" });
});
