import { A2AError, artifact, completed, reply, type ServerInterceptor, TaskState, working } from "trivium";
import { apiKey } from "trivium/auth";
import { expect, it } from "vitest";
import { itemsOf } from "../../support/items.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { overEveryWire, startAgent } from "../../support/serve-agent.js";
import { wireRow } from "../../support/wires.js";

const agent = async ({ text }: { readonly text: string }) => (text === "task" ? completed() : reply(`heard ${text}`));

overEveryWire((start, wire) => {
  it("interceptors see every call with its operation, request and context, the first one outermost", async () => {
    const steps: unknown[] = [];
    const named =
      (name: string): ServerInterceptor =>
      async (call, next) => {
        const { binding, principal } = call.context;
        steps.push([name, call.operation, binding, principal.owner]);
        const answer = await next(call);
        steps.push([name, "after"]);
        return answer;
      };
    await using served = await start({ agent, interceptors: [named("outer"), named("inner")] });
    await served.client.sendMessage(say("go"), {});
    const { binding } = wireRow(wire);
    const facts = ["sendMessage", binding === "grpc-web" ? "CONNECT" : binding, "anonymous"];
    expect(steps).toEqual([
      ["outer", ...facts],
      ["inner", ...facts],
      ["inner", "after"],
      ["outer", "after"],
    ]);
  });

  it("an interceptor may refuse a call, change its request, and change or make its answer", async () => {
    const rules: ServerInterceptor = async (call, next) => {
      if (call.operation === "cancelTask") throw new A2AError("permissionDenied", "nothing is canceled on Sundays");
      if (call.operation === "sendMessage" && call.request.message !== undefined) {
        const { message } = call.request;
        if (message.messageId === "m-made") return next({ ...call, request: say("task") });
      }
      return next(call);
    };
    await using served = await start({ agent, interceptors: [rules] });
    const { id } = taskOf(await served.client.sendMessage(say("task"), {}));
    const refused = await errorOf(served.client.cancelTask(requestOf("cancelTask", { id }), {}));
    expect(refused).toMatchObject({ code: "permissionDenied", message: "nothing is canceled on Sundays" });
    const request = say("anything");
    if (request.message !== undefined) request.message.messageId = "m-made";
    expect(stateOf(taskOf(await served.client.sendMessage(request, {})))).toBe("COMPLETED");
  });

  it("an interceptor sees the items of a stream, and what it throws ends the stream", async () => {
    const counts: number[] = [];
    const counting: ServerInterceptor = async (call, next) => {
      const answer = await next(call);
      if (!(Symbol.asyncIterator in answer)) return answer;
      return (async function* () {
        let count = 0;
        for await (const item of answer) {
          count += 1;
          yield item;
        }
        counts.push(count);
      })();
    };
    await using served = await start({
      interceptors: [counting],
      async *agent() {
        yield working();
        yield completed();
      },
    });
    const items = await itemsOf(served.client.sendStreamingMessage(say("go"), {}));
    const last = items.at(-1)?.response.payload;
    expect(last?.case === "statusUpdate" && last.value.status?.state).toBe(TaskState.COMPLETED);
    // Older versions may split or leave out an item.
    expect(counts).toEqual([3]);
  });

  it("what an interceptor throws by mistake is masked and logged", async () => {
    const broken: ServerInterceptor = async () => {
      throw new TypeError("a secret of the interceptor");
    };
    await using served = await start({ agent, interceptors: [broken] });
    const error = await errorOf(served.client.sendMessage(say("go"), {}));
    expect(error.code).toBe("internalError");
    expect(error.message).not.toMatch(/secret/);
    expect(served.log.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

it("interceptors see what a requirement of the operation refuses", async () => {
  const codes: string[] = [];
  const auditing: ServerInterceptor = async (call, next) => {
    try {
      return await next(call);
    } catch (error) {
      codes.push(`${call.operation} ${error instanceof A2AError ? error.code : "?"}`);
      throw error;
    }
  };
  const key = apiKey({ in: "header", name: "x-key", verify: (value) => value });
  const auth = { schemes: { key }, operations: { cancelTask: [{ key: ["cancel"] }] } };
  await using served = await startAgent("JSONRPC", { agent, auth, interceptors: [auditing] });
  const headers = { "x-key": "k" };
  await errorOf(served.transport.cancelTask(requestOf("cancelTask", { id: "t" }), { headers }));
  expect(codes).toEqual(["cancelTask permissionDenied"]);
});

it("a reader that leaves a stream ends it in the interceptors too", async () => {
  const left = Promise.withResolvers<void>();
  const passing: ServerInterceptor = async (call, next) => {
    const answer = await next(call);
    if (!(Symbol.asyncIterator in answer)) return answer;
    return (async function* () {
      try {
        yield* answer;
      } finally {
        left.resolve();
      }
    })();
  };
  await using served = await startAgent("JSONRPC", {
    interceptors: [passing],
    async *agent() {
      for (let n = 0; ; n++) yield artifact(String(n), { artifactId: `a-${n}` });
    },
  });
  const stream = served.transport.sendStreamingMessage(say("go"), {})[Symbol.asyncIterator]();
  await stream.next();
  await stream.return?.();
  await left.promise;
});
