import { inspect } from "node:util";
import { A2AError, type Agent, type Authenticate, artifact, memoryTaskStore, working } from "trivium";
import { describe, expect, it } from "vitest";
import { findOperation } from "../../../src/protocol/operations.js";
import { connectBody, connectTarget } from "../../support/http-ends.js";
import { rawGrpc } from "../../support/raw-grpc.js";
import { httpLine, json, rawHttpJson, rawJsonRpc } from "../../support/raw-http.js";
import { expectNoInternals, type RawWire } from "../../support/raw-wire.js";
import { linesOf, say } from "../../support/say.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Internal errors go to the log and nowhere else.

const secret = "secret-4711";
const fail = (): never => {
  throw new Error(secret);
};

const leaks: readonly (readonly [how: string, agent: Agent])[] = [
  ["throws before it is a promise", fail],
  ["rejects", async () => fail()],
  [
    "throws before its first event",
    async function* () {
      yield fail();
    },
  ],
  [
    "throws behind a status",
    async function* () {
      yield working();
      fail();
    },
  ],
  [
    "throws within an artifact",
    async function* () {
      yield artifact("half", { artifactId: "a" });
      fail();
    },
  ],
  ["throws a text", () => Promise.reject(secret)],
  ["throws an object", () => Promise.reject({ secret, toString: fail, toJSON: fail })],
  ["throws many errors", () => Promise.reject(new AggregateError([new Error(secret)], secret))],
  ["throws what cannot be looked at", () => Promise.reject(new Proxy({}, { get: fail, getPrototypeOf: fail }))],
  [
    "gives an error of its own with a cause",
    async () => {
      throw new A2AError("invalidParams", "that is wrong", { cause: new Error(secret) });
    },
  ],
  ["gives an event that cannot be looked at", async () => new Proxy({}, { get: fail }) as never],
];

const wires: Readonly<Record<string, (port: number) => RawWire>> = {
  "JSON-RPC": rawJsonRpc,
  "HTTP+JSON": rawHttpJson,
  gRPC: rawGrpc,
};
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };

function expectLogged({ log }: ServedAgent): void {
  expect(log.filter(({ level }) => level === "error").map(({ fields }) => inspect(fields))).toEqual([
    expect.stringContaining(secret),
  ]);
}

describe.each(leaks)("an agent that %s", (how, agent) => {
  it.each(Object.entries(wires))("a failing agent leaks nothing of its error over %s", async (_, open) => {
    for (const name of ["sendMessage", "sendStreamingMessage"] as const) {
      await using served = await startAgent("JSONRPC", { agent });
      using wire = open(served.server.port);
      const { text: reply } = await wire.call(findOperation(name), { message });
      const listed = await wire.call(findOperation("listTasks"), { includeArtifacts: true, historyLength: 100 });
      expect(reply + listed.text).not.toContain(secret);
      expectNoInternals(reply + listed.text);
      if (!how.startsWith("gives an error")) expect(served.log.some(({ level }) => level === "error")).toBe(true);
    }
  });

  it.each(["CONNECT", "grpc-web"] as const)("a failing agent leaks nothing of its error over %s", async (wire) => {
    await using served = await startAgent(wire, { agent });
    const values: unknown[] = [];
    const see = ({ code, message, metadata, violations }: A2AError) => values.push(code, message, metadata, violations);
    await served.client.sendMessage(say("go"), {}).then((answer) => values.push(answer), see);
    await linesOf(served.client.sendStreamingMessage(say("go"), {})).then((lines) => values.push(lines), see);
    const output = inspect(values, { depth: 20 });
    expect(output).not.toContain(secret);
    expectNoInternals(output);
  });

  it("a failing agent leaks nothing of its error to an anonymous caller over Connect", async () => {
    await using served = await startAgent("CONNECT", { agent });
    using line = httpLine(served.server.port);
    const { text } = await line.ask({ target: connectTarget, headers: json, body: connectBody });
    expect(text).not.toContain(secret);
    expectNoInternals(text);
  });
});

it.each(leaks.slice(0, 6))(
  "the log says why an agent that %s failed, with the reference that the caller got",
  async (_, agent) => {
    await using served = await startAgent("JSONRPC", { agent });
    using wire = rawJsonRpc(served.server.port);
    const { text: reply } = await wire.call(findOperation("sendMessage"), { message });
    expectLogged(served);
    const reference = /reference ([\w-]+)/.exec(reply)?.[1];
    expect(served.log.find(({ level }) => level === "error")?.fields).toMatchObject({ reference });
  },
);

describe.each(Object.entries(wires))("over %s, no details leak of a failure in", (_, open) => {
  const card = { name: "Leaky", description: "Fails", version: "1.0.0", extended: fail };
  const failingStore = () => Object.assign(memoryTaskStore(), { list: async () => fail() });

  it.each([
    ["the maker of its extended card", "getExtendedAgentCard", "internalError"],
    ["its store", "listTasks", "unavailable"],
  ] as const)("no details leak of a failure in %s", async (_what, name, code) => {
    const store = failingStore();
    const options = { authenticate: () => ({ owner: "o" }), agent: async () => {}, store };
    await using served = await startAgent("JSONRPC", { ...options, card });
    using wire = open(served.server.port);
    const { error, text: reply } = await wire.call(findOperation(name), {});
    expect(error?.code).toBe(code);
    expect(reply).not.toContain(secret);
    expectNoInternals(reply);
    expectLogged(served);
  });

  it("no details leak of a failure in authenticate", async () => {
    const refuse: Authenticate = async () => fail();
    await using served = await startAgent("JSONRPC", {
      authenticate: refuse,
      versions: ["1.0"],
      agent: async () => {},
    });
    using wire = open(served.server.port);
    for (const name of ["sendMessage", "sendStreamingMessage", "listTasks"] as const) {
      const { error, text: reply } = await wire.call(findOperation(name), { message });
      expect(error?.code).toBe("unauthenticated");
      expect(reply).not.toContain(secret);
      expectNoInternals(reply);
    }
  });
});
