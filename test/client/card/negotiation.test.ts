import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../../src/client/connect.js";
import { Client as NodeClient } from "../../../src/client/node.js";
import { itemsOf } from "../../support/items.js";
import { allBindings, type BindingName, cardOf, interfaceAt } from "../support/cards.js";
import { type CountingAgent, countingAgent } from "../support/counting-agent.js";
import { ofAnotherVersion, ruled, rules, type StandIn, untrusted } from "../support/stand-ins.js";

/** The first call of a client. A read is answered with an A2A error, which counts as an answer. */
const firstCalls = {
  read: (client: Client) => expect(client.getTask({ id: "nobody" })).rejects.toMatchObject({ code: "taskNotFound" }),
  send: (client: Client) => client.send("go"),
  stream: (client: Client) => itemsOf(client.stream("go")),
} as const;
const calls = ["read", "send", "stream"] as const;
const runsOf = { read: 0, send: 1, stream: 1 } as const;

/** The binding of the working interface: any other one. */
const otherThan = (binding: BindingName): BindingName => (binding === "JSONRPC" ? "HTTP+JSON" : "JSONRPC");

const limitsFor = (what: string) => ({ probeTimeoutMs: what === "hangs" ? 150 : 5_000, connectTimeoutMs: 1_000 });
const unreachable = "cannot reach|broke|within|socket|closed";

// What the first interface does, and what the report says about it.
const leading: Readonly<
  Record<string, { readonly at: (binding: BindingName) => Promise<StandIn>; readonly says: string }>
> = {
  "refuses connections": { at: () => ruled(rules["refuses connections"]), says: "ECONNREFUSED" },
  "closes the socket": { at: () => ruled(rules["closes the socket"]), says: unreachable },
  "resets the socket": { at: () => ruled(rules["resets the socket"]), says: unreachable },
  hangs: { at: () => ruled(rules.hangs), says: "within \\d+ ms" },
  "answers 404": { at: () => ruled(rules["answers 404"]), says: "HTTP status 404" },
  "answers 405": { at: () => ruled(rules["answers 405"]), says: "HTTP status 405" },
  "answers 415": { at: () => ruled(rules["answers 415"]), says: "HTTP status 415" },
  "answers 501": { at: () => ruled(rules["answers 501"]), says: "HTTP status 501" },
  "answers 502": { at: () => ruled(rules["answers 502"]), says: "HTTP status 502" },
  "answers 503": { at: () => ruled(rules["answers 503"]), says: "HTTP status 503" },
  "answers with an error page": {
    at: () => ruled(rules["answers with an error page"]),
    says: "HTTP status 500",
  },
  "answers with a page": { at: () => ruled(rules["answers with a page"]), says: "not JSON|text/html|content-type" },
  "has a certificate that nobody signed": { at: untrusted, says: "self.signed" },
  "speaks another version": { at: ofAnotherVersion, says: "version 1.0 is not served" },
};

/** The agent of the working interface. */
let agent: CountingAgent;
beforeAll(async () => {
  agent = await countingAgent();
});
afterAll(() => agent[Symbol.asyncDispose]());

describe.each(allBindings)("a card whose first interface, of %s,", (binding) => {
  const rows = Object.entries(leading)
    // grpc-js takes an HTML page for a message of half a gigabyte and reports it as the agent's error.
    .filter(([what]) => binding !== "GRPC" || what !== "answers with a page")
    .flatMap(([what, row]) => calls.map((call) => [what, call, row] as const));
  it.each(rows)("%s leads to the next: first a %s", async (what, call, { at, says }) => {
    await using first = await at(binding);
    const before = agent.runs;
    const winner = interfaceAt(otherThan(binding), agent.url);
    const card = cardOf([interfaceAt(binding, first.origin), winner]);
    await using client = await NodeClient.connect(card, { limits: limitsFor(what), allowPrivate: true, retry: false });
    await firstCalls[call](client);
    expect(client.connection).toMatchObject({
      binding: winner["protocolBinding"],
      url: winner["url"],
      version: "1.0",
      passedOver: [{ binding, url: interfaceAt(binding, first.origin)["url"], version: "1.0" }],
    });
    expect(client.connection?.passedOver[0]?.reason).toMatch(new RegExp(says, "i"));
    expect(agent.runs - before).toBe(runsOf[call]);
  });

  const answers = [
    ["answers 401", "unauthenticated"],
    ["answers 403", "permissionDenied"],
    ["answers 429", "resourceExhausted"],
  ] as const;
  const answered = answers.flatMap(([what, code]) => calls.map((call) => [what, call, code] as const));
  it.each(answered)("%s is not skipped: first a %s", async (what, call, code) => {
    await using first = await ruled(rules[what]);
    const before = agent.runs;
    const card = cardOf([interfaceAt(binding, first.origin), interfaceAt(otherThan(binding), agent.url)]);
    await using client = await NodeClient.connect(card, { limits: limitsFor(what), allowPrivate: true, retry: false });
    const expected = code === "resourceExhausted" && binding === "GRPC" ? "unavailable" : code;
    const failure = call === "read" ? client.getTask({ id: "nobody" }) : firstCalls[call](client);
    await expect(failure).rejects.toMatchObject({ code: expected });
    expect(agent.runs).toBe(before);
    expect(client.connection).toBeUndefined();
  });

  it.each(["send", "stream"] as const)("has an agent that refuses is not passed over: first a %s", async (call) => {
    await using first = await countingAgent();
    const before = agent.runs;
    const card = cardOf([interfaceAt(binding, first.url), interfaceAt(otherThan(binding), agent.url)]);
    await using client = await NodeClient.connect(card, { allowPrivate: true });
    const options = { continue: { taskId: "nobody", contextId: "" } };
    const failure = call === "send" ? client.send("go", options) : itemsOf(client.stream("go", options));
    await expect(failure).rejects.toMatchObject({ code: "taskNotFound" });
    expect(client.connection).toMatchObject({ binding, passedOver: [] });
    expect([first.runs, agent.runs]).toEqual([0, before]);
  });
});
