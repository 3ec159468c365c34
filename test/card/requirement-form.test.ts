import type { JsonObject } from "@bufbuild/protobuf";
import { completed, gateway, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { expect, it } from "vitest";
import { Client } from "../../src/client/node.js";

// Security requirements of cards: the form of the specification, and the one that the Go SDK reads and writes.

const skill = { name: "Tow", description: "Tows", tags: ["tow"] };
const options = {
  port: 0,
  logger: false,
  agent: async () => completed(),
  auth: {
    schemes: {
      key: apiKey({
        in: "header",
        name: "x-key",
        verify: (key) => (key === "right" ? { subject: "ada", scopes: ["read", "tow"] } : undefined),
      }),
    },
    require: [{ key: ["read"] }],
    skills: { tow: [{ key: ["tow"] }] },
  },
} as const;
const cardOf = (securityRequirements?: "protojson" | "go") => ({
  ...{ name: "Guarded", description: "d", version: "1", skills: [{ ...skill, id: "tow" }] },
  extended: { skills: [{ ...skill, id: "more" }] },
  securityRequirements,
});

const headers = { "x-key": "right", "a2a-version": "1.0" };
const readCard = async (url: string, sent: Record<string, string> = {}): Promise<JsonObject> =>
  (await (await fetch(url, { headers: sent })).json()) as JsonObject;
const readExtended = async (url: string): Promise<JsonObject> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard", params: {} });
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  return ((await response.json()) as { readonly result: JsonObject }).result;
};
const cardPath = "/.well-known/agent-card.json";

const scopesBy = { protojson: (scope: string) => ({ list: [scope] }), go: (scope: string) => [scope] } as const;

it.each(["protojson", "go"] as const)("the card and the extended one write scopes in the form %s", async (form) => {
  const scopes = scopesBy[form];
  const expected = {
    securityRequirements: [{ schemes: { key: scopes("read") } }],
    skills: expect.arrayContaining([
      expect.objectContaining({ id: "tow", securityRequirements: [{ schemes: { key: scopes("tow") } }] }),
    ]),
  };
  await using server = await serve({ ...options, card: cardOf(form) });
  expect(await readCard(server.url + cardPath)).toMatchObject(expected);
  expect(await readCard(server.url + cardPath, { "a2a-version": "1.0" })).toMatchObject(expected);
  const interfaces = server.card.supportedInterfaces;
  const urlOf = (binding: string) => interfaces.find(({ protocolBinding }) => protocolBinding === binding)?.url ?? "";
  expect(await readExtended(urlOf("JSONRPC"))).toMatchObject(expected);
  expect(await readCard(`${urlOf("HTTP+JSON")}/extendedAgentCard`, headers)).toMatchObject(expected);
  // Older versions have a form of their own.
  expect(await readCard(server.url + cardPath, { "a2a-version": "0.3" })).toMatchObject({
    security: [{ key: ["read"] }],
  });
  for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"] as const) {
    await using client = await Client.connect(server.url, { prefer: [binding], credentials: { key: "right" } });
    const read = [{ schemes: { key: { list: ["read"] } } }];
    expect(client.card.securityRequirements).toMatchObject(read);
    expect((await client.getExtendedAgentCard({})).securityRequirements).toMatchObject(read);
  }
});

it("the form of requirements is that of the specification unless the card asks for another", async () => {
  await using server = await serve({ ...options, card: cardOf() });
  expect(await readCard(server.url + cardPath)).toMatchObject({
    securityRequirements: [{ schemes: { key: { list: ["read"] } } }],
  });
});

it("a gateway reads both forms of requirements, and writes its own", async () => {
  await using agent = await serve({ ...options, card: cardOf("go") });
  const upstream = { upstream: agent.url, forward: ["x-key"], port: 0, logger: false } as const;
  await using plain = await gateway(upstream);
  await using forGo = await gateway({ ...upstream, securityRequirements: "go" });
  expect(await readCard(plain.url + cardPath)).toMatchObject({
    securityRequirements: [{ schemes: { key: { list: ["read"] } } }],
  });
  expect(await readCard(forGo.url + cardPath)).toMatchObject({
    securityRequirements: [{ schemes: { key: ["read"] } }],
  });
});

it("a form of requirements that does not exist, or the requirements themselves, are refused", async () => {
  const start = (securityRequirements: unknown) =>
    serve({ ...options, card: { ...cardOf(), securityRequirements } as never });
  await expect(start("proto")).rejects.toThrow(/card\.securityRequirements must be "protojson" or "go"/);
  await expect(start([{ schemes: { key: {} } }])).rejects.toThrow(/give the requirements as `auth\.require`/);
});
