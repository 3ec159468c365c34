import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { ConnectOptions } from "../../src/client/options.js";
import type { RetryNotice } from "../../src/client/retrying.js";
import { createFaultProxy, type FaultProxy } from "../support/fault-proxy.js";
import { cutAfter } from "../support/fault-schedule.js";
import { itemsOf } from "../support/items.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { answered, type CardAnswer, cardServer } from "./support/card-server.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { nextPause, throughPauses } from "./support/pauses.js";

// An agent that restarts: what was not sent waits for it.

const restart = { kind: "refuse" } as const;
const pass = { kind: "pass" } as const;
const sum = (pauses: readonly number[]): number => pauses.reduce((total, each) => total + each, 0);
const calls = {
  send: (client: Client) => client.send("say"),
  stream: (client: Client) => itemsOf(client.stream("say")),
  getTask: (client: Client) => client.getTask({ id: "x" }),
  wait: (client: Client) => client.wait("x"),
  watch: (client: Client) => itemsOf(client.watch("x")),
} as const;
type CallName = keyof typeof calls;

async function restartingAgent() {
  const agent = await countingAgent();
  const proxy = await createFaultProxy({ target: { port: agent.port }, schedule: [restart] });
  return {
    agent,
    proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
    },
  };
}

function clientOf(proxy: FaultProxy, binding: (typeof allBindings)[number], options: ConnectOptions): Promise<Client> {
  const card = cardOf([interfaceAt(binding, proxy.url())], { capabilities: { streaming: true } });
  return Client.connect(card, { allowPrivate: true, ...options });
}

const everywhere = allBindings.flatMap((binding) =>
  (["send", "stream", "getTask"] as const).map((name) => [binding, name] as const),
);

describe("a call to an agent that restarts", () => {
  it.each(everywhere)(
    "a call to an agent that restarts outlasts four attempts, and runs the agent once: %s, %s",
    async (binding, name) => {
      await using scene = await restartingAgent();
      const clock = createVirtualClock();
      await using client = await clientOf(scene.proxy, binding, { clock });
      const outcome = calls[name](client).catch((error: unknown) => error);
      await throughPauses(clock, outcome, (count) => (count === 4 ? scene.proxy.setSchedule([pass]) : undefined));
      if (name === "getTask") expect(await outcome).toMatchObject({ code: "taskNotFound" });
      else expect(await outcome).not.toBeInstanceOf(Error);
      expect(scene.agent.runs).toBe(name === "getTask" ? 0 : 1);
    },
  );

  it.each(Object.keys(calls) as CallName[])(
    "a call to an agent that restarts gives up after 8 s at most: %s",
    async (name) => {
      await using scene = await restartingAgent();
      const clock = createVirtualClock();
      await using client = await clientOf(scene.proxy, "JSONRPC", { clock });
      const outcome = calls[name](client);
      outcome.catch(() => {});
      const waitedMs = sum(await throughPauses(clock, outcome));
      expect(waitedMs).toBeGreaterThan(4_000);
      expect(waitedMs).toBeLessThanOrEqual(8_001);
      await expect(outcome).rejects.toMatchObject({ code: "unavailable", written: false });
    },
  );

  it("a call to an agent that restarts says how long it was tried", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    await using client = await clientOf(scene.proxy, "JSONRPC", { clock });
    const outcome = client.send("say");
    outcome.catch(() => {});
    const waitedMs = sum(await throughPauses(clock, outcome));
    const seconds = Math.round(waitedMs / 100) / 10;
    await expect(outcome).rejects.toThrow(new RegExp(`ECONNREFUSED.* \\(tried for ${seconds} s\\)$`));
  });

  it("a call waits for none of its interfaces while another answers", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    const interfaces = [interfaceAt("JSONRPC", scene.proxy.url()), interfaceAt("HTTP+JSON", scene.agent.url)];
    await using client = await Client.connect(cardOf(interfaces), { clock, allowPrivate: true });
    const outcome = client.send("say");
    expect(await throughPauses(clock, outcome)).toEqual([]);
    await outcome;
  });

  it("a call waits once all of its interfaces have failed, and takes the preferred one afterwards", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    const interfaces = (["JSONRPC", "HTTP+JSON"] as const).map((binding) => interfaceAt(binding, scene.proxy.url()));
    await using client = await Client.connect(cardOf(interfaces), { clock, allowPrivate: true });
    const outcome = client.send("say");
    await throughPauses(clock, outcome, (count) => (count === 5 ? scene.proxy.setSchedule([pass]) : undefined));
    await outcome;
    expect([client.connection?.binding, scene.agent.runs]).toEqual(["JSONRPC", 1]);
  });

  it("a call makes no more than its attempts where another interface has answered", async () => {
    await using scene = await restartingAgent();
    await using missing = await cardServer({});
    const clock = createVirtualClock();
    const interfaces = [interfaceAt("JSONRPC", scene.proxy.url()), interfaceAt("HTTP+JSON", missing.url)];
    await using client = await Client.connect(cardOf(interfaces), { clock, allowPrivate: true });
    const outcome = client.send("say");
    outcome.catch(() => {});
    expect(await throughPauses(clock, outcome)).toHaveLength(3);
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
  });

  it.each([
    ["its caller aborts", (abort: AbortController, _: Client) => abort.abort(new Error("left")), "left"],
    ["its client is closed", (_: AbortController, client: Client) => client.close(), "closed"],
  ] as const)("a call that waits for a restart ends when %s", async (_, end, reason) => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    await using client = await clientOf(scene.proxy, "JSONRPC", { clock });
    const abort = new AbortController();
    const outcome = client.send("say", { signal: abort.signal });
    outcome.catch(() => {});
    await nextPause(clock);
    await end(abort, client);
    await expect(outcome).rejects.toThrow(reason);
  });

  it.each([
    ["ECONNREFUSED", {}, "tried for"],
    ["EAI_AGAIN", {}, "tried for"],
    ["UND_ERR_CONNECT_TIMEOUT", {}, "tried for"],
    ["ECONNRESET", { socket: { bytesWritten: 0 } }, "tried for"],
    ["ECONNRESET", {}, undefined],
    ["ENOTFOUND", {}, undefined],
    ["CERT_HAS_EXPIRED", {}, undefined],
  ] as const)(
    "a call is repeated only for failures that pass and came before the request: %s %o",
    async (code, more, says) => {
      const clock = createVirtualClock();
      const fetch = () =>
        Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), more, { code }) }));
      const options = { clock, fetch, allowPrivate: true };
      await using client = await Client.connect(cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")]), options);
      const outcome = client.send("say");
      outcome.catch(() => {});
      const pauses = await throughPauses(clock, outcome);
      if (says === undefined) expect(pauses).toEqual([]);
      else expect(pauses.length).toBeGreaterThan(3);
      await expect(outcome).rejects.toThrow(says ?? code);
    },
  );

  it.each([
    ["retry: false", false, 0],
    ["one attempt", { maxAttempts: 1 }, 0],
    ["no time for it", { unsentMs: 0 }, 3],
    ["a budget of five", { budget: 5 }, 5],
  ] as const)("a call to an agent that restarts waits less with %s", async (_, retry, count) => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    await using client = await clientOf(scene.proxy, "JSONRPC", { clock, retry });
    const outcome = client.send("say");
    outcome.catch(() => {});
    expect(await throughPauses(clock, outcome)).toHaveLength(count);
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
  });

  it("a call to an agent that restarts ends with its own time limit", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    await using client = await clientOf(scene.proxy, "JSONRPC", { clock });
    const outcome = client.send("say", { timeoutMs: 2_000 });
    outcome.catch(() => {});
    expect(sum(await throughPauses(clock, outcome))).toBeLessThan(2_000);
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
  });

  it("a call adds nothing to the wait of a stream that resumes", async () => {
    await using scene = await restartingAgent();
    const { proxy } = scene;
    await proxy.setSchedule([cutAfter("response", 600, "reset"), restart]);
    const clock = createVirtualClock();
    await using client = await clientOf(proxy, "JSONRPC", { clock });
    const outcome = itemsOf(client.stream("wait"));
    outcome.catch(() => {});
    const waitedMs = sum(await throughPauses(clock, outcome));
    expect(waitedMs).toBeLessThanOrEqual(8_501);
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
    expect(proxy.connections).toBe(1);
  });

  it("a call announces each retry with its reason", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    const notices: RetryNotice[] = [];
    await using client = await clientOf(scene.proxy, "JSONRPC", { clock, onRetry: (notice) => notices.push(notice) });
    const outcome = client.send("say");
    outcome.catch(() => {});
    const pauses = await throughPauses(clock, outcome);
    expect(notices).toHaveLength(pauses.length);
    expect(notices[0]).toMatchObject({ failingMs: 0, error: { code: "unavailable" } });
    expect(notices.at(-1)?.failingMs).toBeCloseTo(sum(pauses.slice(0, -1)), 0);
  });
});

const cardPath = "/.well-known/agent-card.json";
const card = cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")]);
const uncached = { cardCache: false } as const;

/** A server whose first answers are of another kind than its card. */
function cardAfter(count: number, before: CardAnswer): CardAnswer {
  let left = count;
  return (request, response) => {
    const answer = left-- > 0 ? before : card;
    if (typeof answer === "function") answer(request, response);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  };
}

/** A server that greets whoever connects, as that of a mail program does. */
async function greetingServer() {
  const server = createServer((socket) =>
    socket
      .on("error", () => {})
      .resume()
      .end("220 mail.example ESMTP\r\n"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" ? address?.port : undefined,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

describe("the search for a card", () => {
  it("the search for a card waits for a server that restarts", async () => {
    await using server = await cardServer({ [cardPath]: card });
    await using proxy = await createFaultProxy({
      target: { port: Number(new URL(server.url).port) },
      schedule: [restart],
    });
    const clock = createVirtualClock();
    const connecting = Client.connect(proxy.url(), { clock, ...uncached });
    await throughPauses(clock, connecting, (count) => (count === 4 ? proxy.setSchedule([pass]) : undefined));
    await using client = await connecting;
    expect(client.card.name).toBe(card.name);
  });

  it.each([502, 503])(
    "the search for a card waits for a server behind a proxy that answers %i, also when the card is read again",
    async (status) => {
      const answers = { [cardPath]: cardAfter(5, answered(status)) };
      await using server = await cardServer(answers);
      const clock = createVirtualClock();
      const connecting = Client.connect(server.url, { clock, ...uncached });
      expect(await throughPauses(clock, connecting)).toHaveLength(5);
      await using client = await connecting;
      answers[cardPath] = cardAfter(1, answered(status));
      const refreshed = client.refreshCard();
      expect(await throughPauses(clock, refreshed)).toHaveLength(1);
      expect((await refreshed).name).toBe(card.name);
    },
  );

  it("the search for a card waits as long as the proxy says", async () => {
    await using server = await cardServer({ [cardPath]: cardAfter(1, answered(503, { "retry-after": "3" })) });
    const clock = createVirtualClock();
    const connecting = Client.connect(server.url, { clock, ...uncached });
    const [pause = 0] = await throughPauses(clock, connecting);
    await using _ = await connecting;
    expect(pause).toBeGreaterThanOrEqual(3_000);
  });

  it.each([
    ["8 s", {}, 4_000, 8_001],
    ["cardTimeoutMs", { limits: { cardTimeoutMs: 3_000 } }, 0, 3_000],
    ["no time at all with retry: false", { retry: false }, 0, 0],
  ] as const)("the search for a card ends after %s", async (_, options, leastMs, mostMs) => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    const connecting = Client.connect(scene.proxy.url(), { clock, ...options });
    connecting.catch(() => {});
    const waitedMs = sum(await throughPauses(clock, connecting));
    expect(waitedMs).toBeGreaterThanOrEqual(leastMs);
    expect(waitedMs).toBeLessThanOrEqual(mostMs);
    await expect(connecting).rejects.toMatchObject({ code: "unavailable" });
  });

  it.each([
    ["http", "no HTTP"],
    ["https", "no TLS"],
  ])("the search for a card ends at once with a server at %s that speaks %s", async (scheme) => {
    await using server = await greetingServer();
    const clock = createVirtualClock();
    const connecting = Client.connect(`${scheme}://127.0.0.1:${server.port}`, { clock });
    connecting.catch(() => {});
    expect(await throughPauses(clock, connecting)).toEqual([]);
    await expect(connecting).rejects.toMatchObject({ code: "unavailable", isFinal: true });
  });

  it.each([
    ["401", answered(401)],
    ["404", answered(404)],
    ["500", answered(500)],
    ["something that is no card", { hello: "world" }],
  ])("the search for a card ends at once with %s", async (_, answer) => {
    await using server = await cardServer({ [cardPath]: answer });
    const clock = createVirtualClock();
    const connecting = Client.connect(server.url, { clock, ...uncached });
    connecting.catch(() => {});
    expect(await throughPauses(clock, connecting)).toEqual([]);
    await expect(connecting).rejects.toBeInstanceOf(Error);
  });

  it("the search for a card ends when its caller aborts", async () => {
    await using scene = await restartingAgent();
    const clock = createVirtualClock();
    const abort = new AbortController();
    const connecting = Client.connect(scene.proxy.url(), { clock, signal: abort.signal });
    connecting.catch(() => {});
    await nextPause(clock);
    abort.abort(new Error("left"));
    await expect(connecting).rejects.toThrow("left");
  });
});
