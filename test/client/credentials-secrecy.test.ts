import { inspect } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { CredentialOptions } from "../../src/auth/credential-options.js";
import type { Connection } from "../../src/client/connection.js";
import { Client } from "../../src/client/node.js";
import { bindingRow } from "../../src/protocol/bindings.js";
import { apiKey, http } from "../auth/sources.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { cardServer } from "./support/card-server.js";
import { allBindings, type BindingName, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { rpcServer } from "./support/rpc-server.js";
import { ruled, rules } from "./support/stand-ins.js";

const secret = "hush-hush";
const shown = (value: unknown): string =>
  inspect(value, { depth: 20, showHidden: true }) + (JSON.stringify(value) ?? "") + String(value);

const forms: readonly (readonly [string, JsonObject, CredentialOptions])[] = [
  ["in a header", http("bearer"), { s: secret }],
  ["in the query", apiKey("query", "key"), { s: secret }],
  ["in a cookie", apiKey("cookie", "key"), { s: secret }],
];

const secured = (interfaces: readonly JsonObject[], scheme: JsonObject): JsonObject =>
  cardOf(interfaces, { securitySchemes: { s: scheme }, securityRequirements: [{ schemes: { s: { list: [] } } }] });

describe("a secret", () => {
  const places = [
    "refuses connections",
    "closes the socket",
    "answers 401",
    "answers 503",
    "answers with a page",
  ] as const;
  const rows = forms.flatMap((form) => places.map((place) => [form[0], place, form] as const));
  it.each(rows)(
    "the secret %s is in no error and no report when an agent %s",
    async (_, place, [, scheme, credentials]) => {
      await using first = await ruled(rules[place]);
      const connections: Connection[] = [];
      const interfaces = allBindings
        .filter((binding) => binding !== "GRPC")
        .map((binding) => interfaceAt(binding, first.origin));
      await using client = await Client.connect(secured(interfaces, scheme), {
        credentials,
        retry: false,
        onConnection: (connection) => connections.push(connection),
      });
      for (const call of [() => client.getTask({ id: "x" }), () => client.send("go")]) {
        const error: unknown = await call().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(Error);
        expect(shown(error)).not.toContain(secret);
      }
      expect(shown([connections, client.connection, client])).not.toContain(secret);
    },
  );

  it("a secret is in no report of a successful connection", async () => {
    await using first = await ruled(rules["refuses connections"]);
    await using agent = await countingAgent();
    const connections: Connection[] = [];
    const card = secured(
      [interfaceAt("HTTP+JSON", first.origin), interfaceAt("JSONRPC", agent.url)],
      apiKey("query", "k"),
    );
    await using client = await Client.connect(card, {
      credentials: { s: secret },
      onConnection: (connection) => connections.push(connection),
    });
    await client.send("say");
    expect(connections).toHaveLength(1);
    expect(shown([connections, client.connection])).not.toContain(secret);
  });

  it("a secret does not follow a redirect to another origin", async () => {
    await using other = await cardServer({});
    await using server = await rpcServer((response) =>
      response.writeHead(307, { location: `${other.url}/json-rpc` }).end(),
    );
    const card = { ...secured([], http("bearer")), supportedInterfaces: server.card["supportedInterfaces"] ?? [] };
    await using client = await Client.connect(card, { credentials: { s: secret }, retry: false });
    await expect(client.send("go")).rejects.toThrow();
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    expect(other.requests).toEqual([]);
  });

  const places2: readonly (readonly [BindingName, string])[] = [
    ["JSONRPC", "http://agent.example/json-rpc"],
    ["HTTP+JSON", "http://10.0.0.7"],
    ["GRPC", "agent.example:50051"],
    ["GRPC", "http://agent.example:50051"],
    ["CONNECT", "http://127.0.0.1.example"],
  ];
  it.each(places2)("a secret is not sent in plain text: %s at %s", async (binding, url) => {
    const called: string[] = [];
    await using client = await Client.connect(
      secured([{ protocolBinding: bindingRow(binding).wire, protocolVersion: "1.0", url }], http("bearer")),
      {
        credentials: { s: secret },
        grpcTls: false,
        // Nobody advances this clock, so a pause before a retry would never end.
        clock: createVirtualClock(),
        fetch(input) {
          called.push(String(input));
          return Promise.reject(new TypeError("no network here"));
        },
      },
    );
    const error: unknown = await client.send("go").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unavailable", written: false });
    expect(String(error)).toContain("credentials are not sent in plain text to another machine (allowPlaintext)");
    expect(called).toEqual([]);
  });

  it("a secret is sent in plain text if the caller allows it", async () => {
    const headers: (string | null)[] = [];
    const card = secured([interfaceAt("JSONRPC", "http://agent.example")], http("bearer"));
    await using client = await Client.connect(card, {
      credentials: { s: secret },
      allowPlaintext: true,
      retry: false,
      fetch(_, init) {
        headers.push(new Headers(init?.headers).get("authorization"));
        return Promise.resolve(Response.json({ jsonrpc: "2.0", id: 1, result: { id: "x" } }));
      },
    });
    await client.getTask({ id: "x" });
    expect(headers).toEqual([`Bearer ${secret}`]);
  });

  it("a secret makes the client skip a plain text interface for a secure one", async () => {
    await using agent = await countingAgent();
    const card = secured(
      [interfaceAt("JSONRPC", "http://agent.example"), interfaceAt("HTTP+JSON", agent.url)],
      http("bearer"),
    );
    await using client = await Client.connect(card, { credentials: { s: secret } });
    await client.send("say");
    expect(client.connection).toMatchObject({
      binding: "HTTP+JSON",
      skipped: [{ reason: expect.stringContaining("plain text") }],
    });
  });
});
