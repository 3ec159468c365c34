import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { completed, working } from "trivium";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { TaskState } from "../../src/protocol/model.js";
import { root } from "../support/command.js";
import { createFaultProxy } from "../support/fault-proxy.js";
import { itemsOf } from "../support/items.js";
import { leftOpen, listenersOn, openHandles } from "../support/leaks.js";
import { owned } from "../support/owned.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { cardServer } from "./support/card-server.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { nextPause } from "./support/pauses.js";
import { rpcServer, silence, status } from "./support/rpc-server.js";

const child = fileURLToPath(new URL("support/lifetime-child.mjs", import.meta.url));

/** Runs the program with the built package until it exits by itself. */
async function run(...args: readonly string[]) {
  if (!existsSync(`${root}dist/src/index.js`)) throw new Error("dist is missing: run npm run build");
  const program = owned(spawn(process.execPath, [child, ...args]));
  const [code, out, errors] = await Promise.all([once(program, "close"), text(program.stdout), text(program.stderr)]);
  return { code: code[0] as number, out, errors };
}

describe.each(allBindings)("a program that closes its client exits by itself: %s", { concurrent: true }, (binding) => {
  it("a program that closes its client exits by itself after calls and streams", async () => {
    await using agent = await countingAgent();
    const { code, out, errors } = await run(agent.url, binding, "calls");
    expect(errors).toBe("");
    expect(JSON.parse(out)).toEqual({ said: binding, left: [] });
    expect(code).toBe(0);
  });

  it("a program that closes its client exits by itself, also with an open stream and a send", async () => {
    await using agent = await countingAgent();
    const { code, out, errors } = await run(agent.url, binding, "open");
    expect(errors).toBe("");
    expect(JSON.parse(out)).toEqual({ said: expect.stringMatching(/^failed AbortError, failed \w+Error$/), left: [] });
    expect(code).toBe(0);
  });
});

describe("a client that is closed", () => {
  it.each(allBindings)("a client that is closed leaves nothing open in its process: %s", async (binding) => {
    await using agent = await countingAgent();
    const before = openHandles();
    {
      await using client = await Client.connect(cardOf([interfaceAt(binding, agent.url)]));
      await client.send("say");
      const stream = client.stream("wait")[Symbol.asyncIterator]();
      await stream.next();
    }
    // The server's ends of the connections are in this process too.
    expect(await leftOpen(before)).toEqual({});
  });

  it.each(["read", "send", "stream"] as const)("a client that is closed makes no further calls: %s", async (call) => {
    await using agent = await countingAgent();
    await using proxy = await createFaultProxy({ target: { port: agent.port } });
    const client = await Client.connect(cardOf(allBindings.map((binding) => interfaceAt(binding, proxy.url()))));
    await client.close();
    await client.close();
    const calls = {
      read: () => client.getTask({ id: "x" }),
      send: () => client.send("say"),
      stream: () => client.stream("say")[Symbol.asyncIterator]().next(),
    };
    await expect(calls[call]()).rejects.toMatchObject({ name: "AbortError", message: "the client is closed" });
    expect(proxy.connections).toBe(0);
  });

  it("a client that is closed ends a call that pauses between two tries", async () => {
    await using server = await rpcServer(status(503));
    const clock = createVirtualClock();
    const client = await Client.connect(server.card, { clock });
    const read = client.getTask({ id: "x" });
    const outcome = expect(read).rejects.toThrow("the client is closed");
    await nextPause(clock);
    await client.close();
    await outcome;
    expect(clock.pending()).toEqual([]);
  });

  it("a client that is closed ends an unanswered call", async () => {
    await using server = await rpcServer(silence);
    const client = await Client.connect(server.card);
    const read = client.getTask({ id: "x" });
    const outcome = expect(read).rejects.toThrow("the client is closed");
    while (server.requests.length === 0) await new Promise(setImmediate);
    await client.close();
    await outcome;
  });

  it("a client that is closed leaves no listener on a caller's signal", async () => {
    await using agent = await countingAgent();
    const { signal } = new AbortController();
    for (const binding of allBindings) {
      await using client = await Client.connect(cardOf([interfaceAt(binding, agent.url)]));
      for await (const _ of client.stream("go", { signal }));
      // What Node's `fetch` adds disappears with garbage collection.
      if (binding !== "GRPC") continue;
      await client.send("say", { signal });
      await client.getTask({ id: "x" }, { signal }).catch(() => {});
    }
    expect(listenersOn(signal)).toBe(0);
  });

  it("a client is not created when its options are wrong", async () => {
    await using agent = await countingAgent();
    const before = openHandles();
    const credentials = { s: 7 } as never;
    await expect(Client.connect(agent.url, { credentials, cardCache: false })).rejects.toThrow(TypeError);
    expect(await leftOpen(before)).toEqual({});
  });
});

it.each(allBindings)("an open stream continues when the card leads elsewhere: %s", async (binding) => {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  await using agent = await countingAgent({
    async *agent() {
      yield working();
      await promise;
      yield completed();
    },
  });
  let place = binding;
  const path = "/.well-known/agent-card.json";
  await using cards = await cardServer({
    [path]: (_, response) => response.end(JSON.stringify(cardOf([interfaceAt(place, agent.url)]))),
  });
  await using client = await Client.connect(cards.url, { cardCache: false });
  const stream = client.stream("go")[Symbol.asyncIterator]();
  await stream.next();
  place = binding === "JSONRPC" ? "HTTP+JSON" : "JSONRPC";
  await client.refreshCard();
  await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
  expect(client.connection?.binding).toBe(place);
  end();
  const rest = await itemsOf({ [Symbol.asyncIterator]: () => stream });
  expect(rest.map(({ recovered }) => recovered).every((how) => how === undefined)).toBe(true);
  expect(rest.at(-1)?.response.payload).toMatchObject({ value: { status: { state: TaskState.COMPLETED } } });
});
