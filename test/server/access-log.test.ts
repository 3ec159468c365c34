import { artifact, completed, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { rawCall } from "../support/http-agent.js";
import { type LogLine, recordingLogger } from "../support/recording-logger.js";
import { errorOf, requestOf, say, taskOf } from "../support/say.js";
import { overEach, overEveryWire, startAgent } from "../support/serve-agent.js";
import { type Wire, wireRow } from "../support/wires.js";

const card = { name: "Logged", description: "d", version: "1" };

/** The records of calls that have ended. */
function callsIn(log: readonly LogLine[]): readonly object[] {
  return log.filter(({ level, message }) => level === "info" && message === "call").map(({ fields }) => fields);
}

function bindingOf(wire: Wire): string {
  const { binding } = wireRow(wire);
  return binding === "grpc-web" ? "CONNECT" : binding;
}

const positive = expect.toSatisfy((value: unknown) => typeof value === "number" && value > 0);
const duration = expect.toSatisfy((value: unknown) => typeof value === "number" && value >= 0);

overEveryWire((start, wire) => {
  const authenticate = () => ({ owner: "ada", tenant: "sea" });
  // The method, or the form of a message, decides the version of those that declare none.
  const version = ["1.0", "0.3"].includes(wireRow(wire).version)
    ? wireRow(wire).version
    : expect.stringMatching(/^0\.[13]$/);
  const binding = bindingOf(wire);

  it("a call is one record of the access log when it has ended", async () => {
    await using served = await start({ agent: async () => completed("done"), authenticate, accessLog: true });
    await served.client.sendMessage(say("go"), { headers: { "x-request-id": "r-1" } });
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    expect(callsIn(served.log)).toEqual([
      {
        requestId: "r-1",
        operation: "SendMessage",
        binding,
        version,
        owner: "ada",
        tenant: "sea",
        code: "OK",
        durationMs: duration,
        requestBytes: positive,
        replyBytes: positive,
      },
    ]);
  });

  it("a call that fails has the code of its error in the access log", async () => {
    await using served = await start({ agent: async () => completed(), authenticate, accessLog: true });
    await errorOf(served.client.getTask(requestOf("getTask", { id: "none" }), {}));
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    expect(callsIn(served.log)).toMatchObject([
      { operation: "GetTask", binding, version, owner: "ada", code: "taskNotFound", replyBytes: expect.any(Number) },
    ]);
  });

  it("a caller that is refused has no owner in the access log", async () => {
    const refuse = () => {
      throw new RangeError("no key");
    };
    await using served = await start({ agent: async () => completed(), authenticate: refuse, accessLog: true });
    await errorOf(served.client.getTask(requestOf("getTask", { id: "none" }), {}));
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    const [call = {}] = callsIn(served.log);
    expect(call).toMatchObject({ binding, code: "unauthenticated" });
    expect(Object.keys(call)).not.toContain("owner");
  });

  it("no call is logged unless the access log is asked for", async () => {
    await using served = await start({ agent: async () => completed() });
    await served.client.sendMessage(say("go"), {});
    expect(served.log.filter(({ message }) => message === "call")).toEqual([]);
  });
});

overEveryWire((start, wire) => {
  it("a stream is one record of the access log with the count of its events", async () => {
    await using served = await start({
      async *agent() {
        yield working();
        yield artifact("one");
        yield artifact("two");
      },
      accessLog: true,
    });
    for await (const _ of served.client.sendStreamingMessage(say("go"), {})) {
      // Read to its end.
    }
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    expect(callsIn(served.log)).toMatchObject([
      {
        operation: "SendStreamingMessage",
        binding: bindingOf(wire),
        owner: "anonymous",
        code: "OK",
        requestBytes: positive,
        replyBytes: positive,
        events: expect.toSatisfy((events: number) => events >= 4),
      },
    ]);
  });

  it("a caller that leaves its stream is in the access log as CANCELLED", async () => {
    await using served = await start({
      async *agent({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      accessLog: true,
    });
    for await (const _ of served.client.sendStreamingMessage(say("go"), {})) break;
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    expect(callsIn(served.log)).toMatchObject([{ operation: "SendStreamingMessage", code: "CANCELLED" }]);
  });
});

// Over HTTP a call whose caller has left ends with its turn.
overEach(["GRPC", "GRPC 0.3", "in-process"], (start) => {
  it("a caller that gives up a call is in the access log as CANCELLED", async () => {
    const gone = new AbortController();
    await using served = await start({
      async agent({ signal }) {
        gone.abort();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      accessLog: true,
    });
    await expect(served.client.sendMessage(say("go"), { signal: gone.signal })).rejects.toThrow();
    await expect.poll(() => callsIn(served.log)).toHaveLength(1);
    expect(callsIn(served.log)).toMatchObject([{ operation: "SendMessage", code: "CANCELLED" }]);
  });
});

it("a gRPC call that is past its deadline has that code in the access log", async () => {
  await using served = await startAgent("GRPC", {
    async agent({ signal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    accessLog: true,
  });
  await errorOf(served.client.sendMessage(say("go"), { timeoutMs: 300 }));
  await expect.poll(() => callsIn(served.log)).toHaveLength(1);
  expect(callsIn(served.log)).toMatchObject([
    { operation: "SendMessage", code: expect.stringMatching(/^(?:deadlineExceeded|CANCELLED)$/) },
  ]);
});

describe("the record of a call", () => {
  it("the record of a call has the bytes of the body and of the reply as they were sent", async () => {
    const { log, logger } = recordingLogger();
    await using server = await serve({ card, agent: async () => completed("née"), port: 0, logger, accessLog: true });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "ähm" }] };
    const body = JSON.stringify({ message });
    const headers = { "content-type": "application/json", "A2A-Version": "1.0" };
    const whole = await rawCall(`${server.url}/http-json/message:send`, { headers, body });
    const stream = await rawCall(`${server.url}/http-json/message:stream`, {
      headers,
      body: body.replace('"m"', '"n"'),
    });
    await expect.poll(() => callsIn(log)).toHaveLength(2);
    expect(callsIn(log)).toMatchObject(
      [whole, stream].map(({ text }) => ({
        requestBytes: Buffer.byteLength(body),
        replyBytes: Buffer.byteLength(text),
      })),
    );
  });

  it("the record of a call counts a large reply once", async () => {
    const { log, logger } = recordingLogger();
    await using server = await serve({
      card,
      agent: async () => completed("x".repeat(300_000)),
      port: 0,
      logger,
      accessLog: true,
    });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } });
    const { text } = await rawCall(`${server.url}/json-rpc`, { headers: { "content-type": "application/json" }, body });
    await expect.poll(() => callsIn(log)).toHaveLength(1);
    expect(callsIn(log)).toMatchObject([{ code: "OK", replyBytes: text.length }]);
  });

  it("a page that the host guard refuses and a body that is no JSON have a record of their call", async () => {
    const { log, logger } = recordingLogger();
    await using server = await serve({ card, agent: async () => completed(), port: 0, logger, accessLog: true });
    const headers = { "content-type": "application/json" };
    await rawCall(`${server.url}/json-rpc`, { headers: { ...headers, Origin: "https://evil.example" }, body: "{}" });
    await rawCall(`${server.url}/json-rpc`, { headers, body: "{" });
    expect(callsIn(log)).toMatchObject([
      { binding: "JSONRPC", code: "permissionDenied" },
      { binding: "JSONRPC", owner: "anonymous", code: "parseError", requestBytes: 1 },
    ]);
  });

  it("a call that a gateway passes on has one record", async () => {
    const { log, logger } = recordingLogger();
    const { gateway } = await import("../../src/gateway/gateway.js");
    await using server = await serve({ card, agent: async () => completed(), port: 0, logger: false });
    await using passed = await gateway({ upstream: server.url, port: 0, logger, accessLog: true });
    const calls = passed.inProcess();
    expect(taskOf(await calls.sendMessage(say("go"), {})).id).not.toBe("");
    expect(callsIn(log)).toMatchObject([{ operation: "SendMessage", binding: "in-process", code: "OK" }]);
  });
});
