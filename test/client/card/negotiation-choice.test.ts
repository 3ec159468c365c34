import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createTransport } from "../../../src/binding/transport.js";
import { NoInterfaceError } from "../../../src/client/connection.js";
import { Client } from "../../../src/client/node.js";
import type { TransportFactory } from "../../../src/client/transports.js";
import { Client as WebClient } from "../../../src/client/web.js";
import { toBindingName } from "../../../src/protocol/bindings.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { TaskSchema } from "../../../src/protocol/model.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { cardServer } from "../support/card-server.js";
import { allBindings, type BindingName, cardOf, interfaceAt } from "../support/cards.js";
import { countingAgent } from "../support/counting-agent.js";
import { ruled, rules } from "../support/stand-ins.js";

const near = { allowPrivate: true };

/** A custom binding that answers every read with a task of the requested tenant. */
function ownTransport(binding: string, versions?: readonly string[]) {
  const attempts: string[] = [];
  let closed = 0;
  const factory: TransportFactory = {
    binding,
    versions,
    create({ url, version }) {
      attempts.push(`${url} ${version}`);
      const calls = createTransport({
        unary: async (_, request) =>
          create(TaskSchema, { id: "own", contextId: String(Reflect.get(request, "tenant")) }),
        stream: () => {
          throw new TypeError("no streams here");
        },
      });
      return { ...calls, close: () => void closed++ };
    },
  };
  return {
    factory,
    attempts,
    get closed() {
      return closed;
    },
  };
}

describe("among interfaces that all answer", () => {
  const order = ["HTTP+JSON", "GRPC", "JSONRPC", "CONNECT"] as const;
  it.each<readonly [readonly string[], BindingName]>([
    [[], "HTTP+JSON"],
    [["GRPC"], "GRPC"],
    [["JSONRPC", "GRPC"], "JSONRPC"],
    [["urn:nobody:has:this", "CONNECT", "JSONRPC"], "CONNECT"],
    [["urn:trivium:binding:connect:v1"], "CONNECT"],
  ])("a client that prefers %j gets %s", async (prefer, winner) => {
    await using agent = await countingAgent();
    const card = cardOf(order.map((binding) => interfaceAt(binding, agent.url)));
    await using client = await Client.connect(card, { ...near, prefer });
    await client.send("say");
    expect(client.connection).toEqual({ ...named(interfaceAt(winner, agent.url)), skipped: [] });
  });

  it("interfaces of one binding keep the card's order", async () => {
    await using first = await countingAgent();
    await using second = await countingAgent();
    const interfaces = [first, second].flatMap(({ url }) => [
      interfaceAt("JSONRPC", url),
      interfaceAt("HTTP+JSON", url),
    ]);
    await using client = await Client.connect(cardOf(interfaces), { ...near, prefer: ["HTTP+JSON"] });
    await client.send("say");
    expect(client.connection?.url).toBe(`${first.url}/http-json`);
  });
});

function named({ protocolBinding, url, protocolVersion }: JsonObject) {
  return { binding: toBindingName(String(protocolBinding)), url, version: protocolVersion };
}

describe("an interface that the client cannot speak to", () => {
  it.each([
    ["of an unknown binding", { protocolBinding: "urn:example:pigeon" }, "this client has no such binding"],
    ["of an unknown version", { protocolVersion: "9.9" }, "this client does not speak the version"],
    ["of a version that is none", { protocolVersion: "latest" }, "this client does not speak the version"],
  ])("an interface that the client cannot speak to is skipped: %s", async (_, entry, reason) => {
    await using agent = await countingAgent();
    const unusable = interfaceAt("JSONRPC", agent.url, entry);
    await using client = await Client.connect(cardOf([unusable, interfaceAt("GRPC", agent.url)]), near);
    await client.send("say");
    expect(client.connection).toMatchObject({ binding: "GRPC", skipped: [{ ...named(unusable), reason }] });
  });

  it("an interface of gRPC is called by gRPC-Web by a client that has no gRPC", async () => {
    await using agent = await countingAgent();
    const card = cardOf([interfaceAt("GRPC", agent.url), interfaceAt("CONNECT", agent.url)]);
    await using client = await WebClient.connect(card, { prefer: ["GRPC"] });
    await client.send("say");
    expect(client.connection).toMatchObject({ binding: "GRPC", skipped: [] });
  });

  it("an interface that the client cannot speak to is named in the error when it is the only one", async () => {
    const unusable = interfaceAt("JSONRPC", "http://127.0.0.1:9", { protocolVersion: "9.9" });
    await using client = await Client.connect(cardOf([unusable]), near);
    const error = await client.send("say").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NoInterfaceError);
    expect(error).toMatchObject({
      code: "unavailable",
      written: false,
      skipped: [{ ...named(unusable), reason: "this client does not speak the version" }],
      message: expect.stringContaining("JSONRPC 9.9 at http://127.0.0.1:9/json-rpc: this client does not speak"),
    });
  });

  it("a client can speak to an interface that differs only in its patch version", async () => {
    await using agent = await countingAgent();
    const patched = interfaceAt("JSONRPC", agent.url, { protocolVersion: "1.0.7" });
    await using client = await Client.connect(cardOf([patched]), near);
    await client.send("say");
    expect(client.connection).toEqual({ ...named(patched), skipped: [] });
  });
});

describe("a custom transport", () => {
  it("a custom transport is used under its URI, with the interface's tenant, and closed at the end", async () => {
    const own = ownTransport("urn:example:own", ["1.0"]);
    const entry = { protocolBinding: "urn:example:own", url: "own:somewhere", protocolVersion: "1.0", tenant: "t1" };
    const client = await Client.connect(cardOf([entry]), { transports: [own.factory] });
    expect(own.attempts).toEqual([]);
    expect(await client.getTask({ id: "x" })).toMatchObject({ id: "own", contextId: "t1" });
    expect(await client.getTask({ id: "x", tenant: "t2" })).toMatchObject({ contextId: "t2" });
    expect(own.attempts).toEqual(["own:somewhere 1.0"]);
    await client.close();
    expect(own.closed).toBe(1);
  });

  it("a custom transport replaces the built-in one of the same name", async () => {
    const own = ownTransport("JSONRPC");
    await using client = await Client.connect(cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")]), {
      transports: [own.factory],
    });
    expect(await client.getTask({ id: "x" })).toMatchObject({ id: "own" });
  });

  it("a custom transport that cannot be created leads to the next interface, and reports the reason", async () => {
    await using agent = await countingAgent();
    const broken: TransportFactory = {
      binding: "urn:example:own",
      create() {
        throw new TypeError("the wire is cut");
      },
    };
    const entry = { protocolBinding: "urn:example:own", url: "own:somewhere", protocolVersion: "1.0" };
    const card = cardOf([entry, interfaceAt("JSONRPC", agent.url)]);
    await using client = await Client.connect(card, { ...near, transports: [broken] });
    await client.send("say");
    expect(client.connection?.skipped).toEqual([
      { ...named(entry), reason: "cannot reach own:somewhere: the wire is cut" },
    ]);
  });

  it("a custom transport gets credentials in plain text only if the caller allows it", async () => {
    const own = ownTransport("urn:example:own");
    const entry = { protocolBinding: "urn:example:own", url: "own:somewhere", protocolVersion: "1.0" };
    const options = {
      transports: [own.factory],
      retry: false,
      credentials: () => ({ headers: { a: "s3cret" } }),
    } as const;
    await using careful = await Client.connect(cardOf([entry]), options);
    await expect(careful.getTask({ id: "x" })).rejects.toThrow("allowPlaintext");
    await using bold = await Client.connect(cardOf([entry]), { ...options, allowPlaintext: true });
    expect(await bold.getTask({ id: "x" })).toMatchObject({ id: "own" });
  });
});

describe("when no interface answers", () => {
  it.each(["read", "send"] as const)("the error of a %s names each interface and its reason", async (call) => {
    await using refusing = await ruled(rules["refuses connections"]);
    await using missing = await ruled(rules["answers 404"]);
    const interfaces = [
      interfaceAt("JSONRPC", refusing.origin),
      interfaceAt("GRPC", refusing.origin),
      interfaceAt("HTTP+JSON", missing.origin),
      interfaceAt("CONNECT", missing.origin, { protocolVersion: "9.9" }),
    ];
    await using client = await Client.connect(cardOf(interfaces), { ...near, retry: false });
    const failure = call === "read" ? client.getTask({ id: "x" }) : client.send("go");
    const error = await failure.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NoInterfaceError);
    expect(error).toMatchObject({
      written: false,
      skipped: [
        { binding: "CONNECT", reason: "this client does not speak the version" },
        { binding: "JSONRPC", reason: expect.stringContaining("ECONNREFUSED") },
        { binding: "GRPC", reason: expect.stringContaining("ECONNREFUSED") },
        { binding: "HTTP+JSON", reason: expect.stringContaining("404") },
      ],
    });
    for (const entry of interfaces) expect(String(error)).toContain(String(entry["url"]));
    expect(client.connection).toBeUndefined();
  });

  it("an interface that the client itself refuses is not retried", async () => {
    const entry = interfaceAt("JSONRPC", "http://10.0.0.7");
    const path = "/card.json";
    await using cards = await cardServer({ [path]: cardOf([entry, interfaceAt("GRPC", "http://10.0.0.7:50051")]) });
    // Nobody advances this clock, so a pause would never end.
    await using client = await Client.connect(cards.url + path, { clock: createVirtualClock(), cardCache: false });
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({
      written: false,
      skipped: [
        { reason: expect.stringContaining("10.0.0.7 may not be called") },
        { reason: expect.stringContaining("10.0.0.7 may not be called") },
      ],
    });
  });

  it("a missing endpoint is not retried", async () => {
    await using missing = await ruled(rules["answers 404"]);
    const interfaces = (["JSONRPC", "HTTP+JSON"] as const).map((binding) => interfaceAt(binding, missing.origin));
    await using client = await Client.connect(cardOf(interfaces), near);
    await expect(client.getTask({ id: "x" })).rejects.toBeInstanceOf(NoInterfaceError);
    expect(missing.connections).toBeLessThanOrEqual(interfaces.length);
  });

  it("an agent's answer that it does not support the version is final", async () => {
    await using agent = await countingAgent({
      authenticate: () => {
        throw new A2AError("versionNotSupported", "not here");
      },
    });
    const interfaces = allBindings.map((binding) => interfaceAt(binding, agent.url));
    await using client = await Client.connect(cardOf(interfaces), near);
    await expect(client.send("go")).rejects.toMatchObject({ code: "versionNotSupported" });
    expect(agent.runs).toBe(0);
  });
});
