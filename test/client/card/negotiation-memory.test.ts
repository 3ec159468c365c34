import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Connection } from "../../../src/client/connection.js";
import { Client } from "../../../src/client/node.js";
import type { A2AError } from "../../../src/protocol/errors.js";
import { clientsWith } from "../../support/clients.js";
import { createFaultProxy } from "../../support/fault-proxy.js";
import { cutAfter, type Rule, type Schedule } from "../../support/fault-schedule.js";
import { itemsOf } from "../../support/items.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { allBindings, cardOf, interfaceAt } from "../support/cards.js";
import { countingAgent } from "../support/counting-agent.js";
import { ruled, rules } from "../support/stand-ins.js";

const refuse = [{ kind: "refuse" }] as const;
const pass = [{ kind: "pass" }] as const;

/** Answers a read, and closes the connection. */
const answers: Rule = {
  kind: "answer",
  answer: {
    status: 404,
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({
      error: {
        ...{ code: 404, status: "NOT_FOUND", message: "no such task" },
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            ...{ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
          },
        ],
      },
    }),
  },
};

/** A client whose first interface goes through a proxy and whose second is another agent. */
async function pair() {
  const first = await countingAgent();
  const second = await countingAgent();
  const proxy = await createFaultProxy({ target: { port: first.port } });
  const clock = createVirtualClock();
  const connections: Connection[] = [];
  const card = cardOf([interfaceAt("JSONRPC", proxy.url()), interfaceAt("HTTP+JSON", second.url)]);
  const client = await Client.connect(card, {
    allowPrivate: true,
    clock,
    retry: false,
    onConnection: (connection) => connections.push(connection),
  });
  return {
    first,
    second,
    proxy,
    clock,
    client,
    connections,
    async [Symbol.asyncDispose]() {
      await client.close();
      await proxy[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

describe("an interface that failed", () => {
  it("an interface that failed is skipped for 30 seconds, then tried again", async () => {
    await using both = await pair();
    const { first, second, proxy, clock, client, connections } = both;
    await proxy.setSchedule(refuse);
    await client.send("say");
    await proxy.setSchedule(pass);
    await clock.advance(29_999);
    await client.send("say");
    expect([first.runs, second.runs, proxy.connections]).toEqual([0, 2, 0]);
    await clock.advance(1);
    await client.send("say");
    expect([first.runs, second.runs]).toEqual([1, 2]);
    expect(connections.map(({ binding, skipped }) => [binding, skipped.length])).toEqual([
      ["HTTP+JSON", 1],
      ["JSONRPC", 0],
    ]);
  });

  it("an interface that failed again is skipped twice as long, and for the initial time after a success", async () => {
    await using both = await pair();
    const { proxy, clock, client } = both;
    await proxy.setSchedule([{ kind: "close" }]);
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
    expect(proxy.connections).toBe(1);
    const tried: number[] = [];
    for (const ms of [30_000, 59_999, 1, 119_999, 1]) {
      await clock.advance(ms);
      const before = proxy.connections;
      await client.send("say");
      tried.push(proxy.connections - before);
    }
    expect(tried).toEqual([1, 0, 1, 0, 1]);
    await proxy.setSchedule(pass);
    await clock.advance(240_000);
    await client.send("say");
    expect(client.connection?.binding).toBe("JSONRPC");
    await proxy.setSchedule(refuse);
    await client.getTask({ id: "x" }).catch(() => {});
    await proxy.setSchedule(pass);
    await clock.advance(30_000);
    await client.send("say");
    expect(client.connection?.binding).toBe("JSONRPC");
  });

  it("an interface that failed is tried at once when no other interface answers", async () => {
    await using both = await pair();
    const { first, second, proxy, client } = both;
    await proxy.setSchedule(refuse);
    await client.send("say");
    await second.server.close();
    await proxy.setSchedule(pass);
    await client.send("say");
    expect(first.runs).toBe(1);
    expect(client.connection).toMatchObject({ binding: "JSONRPC", skipped: [] });
  });

  it("an interface that failed in an outage is skipped for 30 seconds, after any number of calls", async () => {
    await using agent = await countingAgent();
    const target = { port: agent.port };
    await using first = await createFaultProxy({ target, schedule: refuse });
    await using second = await createFaultProxy({ target, schedule: [answers] });
    const clock = createVirtualClock();
    const card = cardOf([interfaceAt("JSONRPC", first.url()), interfaceAt("HTTP+JSON", second.url())]);
    await using client = await Client.connect(card, { clock, retry: false });
    const read = (): Promise<string> => client.getTask({ id: "x" }).then(String, ({ code }: A2AError) => code);
    expect(await read()).toBe("taskNotFound");
    await second.setSchedule(refuse);
    for (let calls = 0; calls < 8; calls++) expect(await read()).toBe("unavailable");
    await second.setSchedule(pass);
    expect(await read()).toBe("taskNotFound");
    expect(client.connection?.binding).toBe("HTTP+JSON");
    await first.setSchedule(pass);
    await clock.advance(30_000);
    expect(await read()).toBe("taskNotFound");
    expect(client.connection?.binding).toBe("JSONRPC");
  });

  it("an interface that failed is probed before it gets a message, within part of the call's time", async () => {
    await using both = await pair();
    const { first, second, proxy, clock, client } = both;
    await client.send("say");
    await first.server.close();
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
    await proxy.setSchedule([{ kind: "hang" }]);
    await clock.advance(30_000);
    await client.send("say", { timeoutMs: 1_000 });
    expect([first.runs, second.runs]).toEqual([1, 1]);
    expect(client.connection).toMatchObject({ binding: "HTTP+JSON" });
  });
});

describe("a message that may have reached an agent", () => {
  it.each(["send", "stream"] as const)(
    "a message that may have reached an agent is not sent to another: a %s whose answer is cut off",
    async (call) => {
      await using both = await pair();
      const { first, second, proxy, client } = both;
      await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
      await proxy.setSchedule([cutAfter("response", 0, "reset")]);
      const failure = call === "send" ? client.send("say") : itemsOf(client.stream("say"));
      await expect(failure).rejects.toMatchObject({ code: "unavailable", written: true });
      expect(first.runs + second.runs).toBeLessThanOrEqual(1);
      expect(second.runs).toBe(0);
    },
  );

  it.each(allBindings)("a message runs the agent once, whatever fails on the way: %s", async (binding) => {
    await using agent = await countingAgent();
    for (const after of [0, 1, 40, 200, 400]) {
      const before = agent.runs;
      await using proxy = await createFaultProxy({
        target: { port: agent.port },
        schedule: [cutAfter("request", after, "reset")],
      });
      const card = cardOf([interfaceAt(binding, proxy.url()), interfaceAt("JSONRPC", agent.url)]);
      await using client = await clientsWith({ probeTimeoutMs: 500 }).connect(card, { allowPrivate: true });
      await client.send("say").catch(() => {});
      expect(agent.runs - before).toBeLessThanOrEqual(1);
    }
  });
});

describe("a call abandoned while the first interface hangs", () => {
  it.each(["read", "send"] as const)(
    "a call abandoned while the first interface hangs asks no other: %s",
    async (call) => {
      await using first = await ruled(rules.hangs);
      await using agent = await countingAgent();
      const card = cardOf([interfaceAt("JSONRPC", first.origin), interfaceAt("HTTP+JSON", agent.url)]);
      await using client = await Client.connect(card);
      const { signal, leave } = leaving();
      const left = call === "read" ? client.getTask({ id: "x" }, { signal }) : client.send("say", { signal });
      const outcome = expect(left).rejects.toThrow("enough");
      while (first.connections === 0) await setImmediate();
      leave();
      await outcome;
      expect(agent.runs).toBe(0);
      expect(client.connection).toBeUndefined();
    },
  );

  it("a stream abandoned while the first interface hangs sends no message later", async () => {
    await using first = await ruled(rules.hangs);
    await using agent = await countingAgent();
    const card = cardOf([interfaceAt("JSONRPC", first.origin), interfaceAt("HTTP+JSON", agent.url)]);
    await using client = await clientsWith({ probeTimeoutMs: 200 }).connect(card);
    const stream = client.stream("say")[Symbol.asyncIterator]();
    const next = stream.next();
    while (first.connections === 0) await setImmediate();
    await stream.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    // By the time of this call the first interface has also been given up for the stream.
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
    expect(agent.runs).toBe(0);
  });
});

function leaving() {
  const controller = new AbortController();
  return { signal: controller.signal, leave: () => controller.abort(new Error("enough")) };
}

it("a message is retried at another interface of an agent with idempotent sends, and runs once", async () => {
  await using agent = await countingAgent();
  const uri = "urn:trivium:extension:idempotent-send:v1";
  const sentThrough = async (schedule: Schedule) => {
    await using proxy = await createFaultProxy({ target: { port: agent.port }, schedule });
    const card = cardOf([interfaceAt("JSONRPC", proxy.url()), interfaceAt("HTTP+JSON", agent.url)], {
      capabilities: { streaming: true, extensions: [{ uri }] },
    });
    await using client = await Client.connect(card, { retry: false });
    const before = agent.runs;
    await client.send("say");
    return { connection: client.connection, runs: agent.runs - before, bytes: proxy.record()[0]?.response ?? 0 };
  };
  const whole = await sentThrough(pass);
  expect(whole).toMatchObject({ connection: { binding: "JSONRPC" }, runs: 1 });
  const broken = await sentThrough([cutAfter("response", whole.bytes - 10, "reset")]);
  expect(broken).toMatchObject({
    connection: { binding: "HTTP+JSON", skipped: [{ binding: "JSONRPC" }] },
    runs: 1,
  });
});
