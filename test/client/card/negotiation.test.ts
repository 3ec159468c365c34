import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../../src/client/connect.js";
import { Client as NodeClient } from "../../../src/client/node.js";
import { clientsWith } from "../../support/clients.js";
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
const messages = ["send", "stream"] as const;
const runsOf = { read: 0, send: 1, stream: 1 } as const;

/** The binding of the working interface: any other one. */
const otherThan = (binding: BindingName): BindingName => (binding === "JSONRPC" ? "HTTP+JSON" : "JSONRPC");

const limits = { connectTimeoutMs: 1_000 };
const clientsFor = (what: string) => clientsWith({ probeTimeoutMs: what === "hangs" ? 150 : 5_000 });
const unreachable = "cannot reach|broke|within|socket|closed";

/** What the first interface does, and what the report says about it. */
interface Leading {
  readonly at: (binding: BindingName) => Promise<StandIn>;
  readonly says: string;
}

/** No agent can have got the call. */
const untouched: Readonly<Record<string, Leading>> = {
  "refuses connections": { at: () => ruled(rules["refuses connections"]), says: "ECONNREFUSED" },
  "answers 404": { at: () => ruled(rules["answers 404"]), says: "HTTP status 404" },
  "answers 405": { at: () => ruled(rules["answers 405"]), says: "HTTP status 405" },
  "answers 415": { at: () => ruled(rules["answers 415"]), says: "HTTP status 415" },
  "answers 501": { at: () => ruled(rules["answers 501"]), says: "HTTP status 501" },
  "has a certificate that nobody signed": { at: untrusted, says: "self.signed" },
  "speaks another version": { at: ofAnotherVersion, says: "version 1.0 is not served" },
};
/** An agent may have got the call. */
const unclear: Readonly<Record<string, Leading>> = {
  "closes the socket": { at: () => ruled(rules["closes the socket"]), says: unreachable },
  "resets the socket": { at: () => ruled(rules["resets the socket"]), says: unreachable },
  hangs: { at: () => ruled(rules.hangs), says: "within \\d+ ms" },
  "answers 502": { at: () => ruled(rules["answers 502"]), says: "HTTP status 502" },
  "answers 503": { at: () => ruled(rules["answers 503"]), says: "HTTP status 503" },
  "answers with an error page": {
    at: () => ruled(rules["answers with an error page"]),
    says: "HTTP status 500",
  },
  "answers with a page": { at: () => ruled(rules["answers with a page"]), says: "not JSON|text/html|content-type" },
};

/** The agent of the working interface. */
let agent: CountingAgent;
beforeAll(async () => {
  agent = await countingAgent();
});
afterAll(() => agent[Symbol.asyncDispose]());

/** An agent that lists the operations it is called with. */
async function listingAgent() {
  const operations: string[] = [];
  const counted = await countingAgent({
    interceptors: [
      (call, next) => {
        operations.push(call.operation);
        return next(call);
      },
    ],
  });
  return Object.assign(counted, { operations });
}

const idempotent = {
  capabilities: { streaming: true, extensions: [{ uri: "urn:trivium:extension:idempotent-send:v1" }] },
};

describe.each(allBindings)("a card whose first interface, of %s,", (binding) => {
  const rowsOf = (table: Readonly<Record<string, Leading>>, names: readonly (typeof calls)[number][]) =>
    Object.entries(table)
      // grpc-js takes an HTML page for a message of half a gigabyte and reports it as the agent's error.
      .filter(([what]) => binding !== "GRPC" || what !== "answers with a page")
      .flatMap(([what, row]) => names.map((call) => [what, call, row] as const));
  // gRPC connects before it sends, and a reset may come before the request is written.
  const isUnsent = (what: string): boolean =>
    what === "resets the socket" || (binding === "GRPC" && /socket|hangs/.test(what));

  /** A client whose first interface does this. */
  async function clientOf(
    first: StandIn,
    what: string,
    { protocolVersion = "1.0", more = {}, origin = agent.url } = {},
  ) {
    const winner = interfaceAt(otherThan(binding), origin, { protocolVersion });
    const loser = interfaceAt(binding, first.origin, { protocolVersion });
    const client = await clientsFor(what).connect(cardOf([loser, winner], more), {
      limits,
      allowPrivate: true,
      retry: false,
    });
    const connection = {
      ...{ binding: winner["protocolBinding"], url: winner["url"], version: protocolVersion },
      skipped: [{ binding, url: loser["url"], version: protocolVersion }],
    };
    return { client, connection };
  }

  // Requirements: V03-CLI-3
  it.each([...rowsOf(untouched, calls), ...rowsOf(unclear, ["read"])])(
    "an interface that %s leads to the next: first a %s",
    async (what, call, { at, says }) => {
      await using first = await at(binding);
      const before = agent.runs;
      const { client, connection } = await clientOf(first, what);
      await using _client = client;
      await firstCalls[call](client);
      expect(client.connection).toMatchObject(connection);
      expect(client.connection?.skipped[0]?.reason).toMatch(new RegExp(says, "i"));
      expect(agent.runs - before).toBe(runsOf[call]);
    },
  );

  it.each(rowsOf(unclear, messages).filter(([what]) => !isUnsent(what)))(
    "an interface that %s keeps a message that may have arrived, and the next one goes to another: first a %s",
    async (what, call, { at }) => {
      await using first = await at(binding);
      const before = agent.runs;
      const { client, connection } = await clientOf(first, what);
      await using _client = client;
      const options = what === "hangs" ? { timeoutMs: 200 } : {};
      const sent = call === "send" ? client.send("go", options) : itemsOf(client.stream("go", options));
      await expect(sent).rejects.toThrow();
      expect(agent.runs).toBe(before);
      await firstCalls[call](client);
      expect(client.connection).toMatchObject(connection);
      expect(agent.runs - before).toBe(1);
    },
  );

  it.each(rowsOf(unclear, messages).filter(([what]) => what !== "hangs" || isUnsent(what)))(
    "an interface that %s leads to the next, if messages may be repeated: first a %s",
    async (what, call, { at }) => {
      await using first = await at(binding);
      await using listing = await listingAgent();
      const { client, connection } = await clientOf(first, what, { more: idempotent, origin: listing.url });
      await using _client = client;
      await firstCalls[call](client);
      expect(client.connection).toMatchObject(connection);
      expect(listing.runs).toBe(1);
      expect(listing.operations).toEqual([call === "send" ? "sendMessage" : "sendStreamingMessage"]);
    },
  );

  it.each(rowsOf(unclear, messages))(
    "an interface that %s is probed before a message where the card does not state its version: first a %s",
    async (what, call, { at, says }) => {
      await using first = await at(binding);
      const before = agent.runs;
      const { client, connection } = await clientOf(first, what, { protocolVersion: "0.3" });
      await using _client = client;
      await firstCalls[call](client);
      expect(client.connection).toMatchObject(connection);
      expect(client.connection?.skipped[0]?.reason).toMatch(new RegExp(says, "i"));
      expect(agent.runs - before).toBe(1);
    },
  );

  const answers = [
    ["answers 401", "unauthenticated"],
    ["answers 403", "permissionDenied"],
    ["answers 429", "resourceExhausted"],
  ] as const;
  const answered = answers.flatMap(([what, code]) => calls.map((call) => [what, call, code] as const));
  it.each(answered)("an interface that %s is not skipped: first a %s", async (what, call, code) => {
    await using first = await ruled(rules[what]);
    const before = agent.runs;
    const card = cardOf([interfaceAt(binding, first.origin), interfaceAt(otherThan(binding), agent.url)]);
    await using client = await clientsFor(what).connect(card, { limits, allowPrivate: true, retry: false });
    const expected = code === "resourceExhausted" && binding === "GRPC" ? "unavailable" : code;
    const failure = call === "read" ? client.getTask({ id: "nobody" }) : firstCalls[call](client);
    await expect(failure).rejects.toMatchObject({ code: expected });
    expect(agent.runs).toBe(before);
    expect(client.connection).toBeUndefined();
  });

  it.each(["send", "stream"] as const)(
    "an interface whose agent refuses the call is not passed over: first a %s",
    async (call) => {
      await using first = await countingAgent();
      const before = agent.runs;
      const card = cardOf([interfaceAt(binding, first.url), interfaceAt(otherThan(binding), agent.url)]);
      await using client = await NodeClient.connect(card, { allowPrivate: true });
      const options = { continue: { taskId: "nobody", contextId: "" } };
      const failure = call === "send" ? client.send("go", options) : itemsOf(client.stream("go", options));
      await expect(failure).rejects.toMatchObject({ code: "taskNotFound" });
      expect(client.connection).toMatchObject({ binding, skipped: [] });
      expect([first.runs, agent.runs]).toEqual([0, before]);
    },
  );
});
