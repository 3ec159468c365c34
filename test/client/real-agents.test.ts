import { describe, expect, it } from "vitest";
import { addressPolicy } from "../../src/binding/fetch/address-policy.js";
import { allowedTargets } from "../../src/binding/grpc/channel-manager.js";
import { Client } from "../../src/client/node.js";
import { filesOf } from "../../src/protocol/content/read.js";
import { file } from "../../src/protocol/parts.js";
import { cardServer } from "./support/card-server.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { result, rpcServer, status } from "./support/rpc-server.js";

// What real agents list and answer, and what real callers give.

const newPath = "/.well-known/agent-card.json";
const task = result({ id: "x", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } });

describe("an interface at the address of every interface", () => {
  it.each(allBindings.flatMap((binding) => ["0.0.0.0", "[::]"].map((host) => [binding, host] as const)))(
    "an interface at the address of every interface, %s, %s, is called on this machine when the card was read from it",
    async (binding, host) => {
      await using agent = await countingAgent();
      const { port } = agent;
      const origin = binding === "GRPC" ? `${host}:${port}` : `http://${host}:${port}`;
      await using cards = await cardServer({ [newPath]: cardOf([interfaceAt(binding, origin)]) });
      await using client = await Client.connect(cards.url, { cardCache: false, retry: false });
      expect((await client.send("say")).text).toBe("said");
      expect(client.connection?.url).toContain(host);
    },
  );

  it("an interface at the address of every interface gets the secrets of this machine", async () => {
    await using server = await rpcServer(task);
    const { port } = new URL(server.url);
    await using cards = await cardServer({ [newPath]: cardOf([interfaceAt("JSONRPC", `http://0.0.0.0:${port}`)]) });
    const secrets = { headers: { "x-key": "k" }, credentials: () => ({ headers: { authorization: "Bearer t" } }) };
    await using client = await Client.connect(cards.url, { cardCache: false, retry: false, ...secrets });
    await client.getTask({ id: "x" });
    expect(server.requests.at(-1)?.headers).toMatchObject({ "x-key": "k", authorization: "Bearer t" });
  });

  it("an interface at the address of every interface is refused in a card given as an object", async () => {
    await using agent = await countingAgent();
    const card = cardOf([interfaceAt("JSONRPC", `http://0.0.0.0:${agent.port}`)]);
    for (const options of [{}, { allowPrivate: false }]) {
      await using client = await Client.connect(card, { ...options, retry: false });
      await expect(client.send("say")).rejects.toMatchObject({ code: "unavailable", written: false });
    }
    expect(agent.runs).toBe(0);
  });
});

it.each(["dns:agent.example:50051", "dns:///agent.example:50051", "ipv4:127.0.0.1:50051", "unix:/tmp/agent.sock"])(
  "the error of a gRPC address %s says what is accepted",
  async (address) => {
    await expect(allowedTargets(address, addressPolicy("loopback", "test"))).rejects.toMatchObject({
      code: "unavailable",
      written: false,
      isFinal: true,
      message: expect.stringContaining("accepted: host:port, or a URL of http, https, grpc or grpcs"),
    });
  },
);

it.each([301, 302, 307])(
  "the error of a call that is redirected by %i names the place without its query",
  async (code) => {
    await using server = await rpcServer(status(code, { location: "https://agent.example/rpc?token=secret" }));
    await using client = await Client.connect(server.card, { retry: false });
    const error = await client.getTask({ id: "x" }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringContaining("a redirect to https://agent.example/rpc:"),
    });
    expect(String(error)).not.toContain("secret");
    expect(server.requests).toHaveLength(1);
  },
);

describe("an Authorization without a credential is not sent", () => {
  it.each(["Bearer ", "Bearer", "Basic ", ""])(
    "an Authorization without a credential is not sent for %j in the headers of the client and of a call",
    async (value) => {
      await using server = await rpcServer(task);
      await using client = await Client.connect(server.card, { headers: { Authorization: value, "x-other": "1" } });
      await client.getTask({ id: "x" });
      await client.getTask({ id: "x" }, { headers: { authorization: value } });
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
      expect(server.requests[0]?.headers["x-other"]).toBe("1");
    },
  );

  it("an Authorization without a credential from a provider of credentials is not sent", async () => {
    await using server = await rpcServer(task);
    const credentials = () => ({ headers: { authorization: "Bearer " } });
    await using client = await Client.connect(server.card, { credentials });
    await client.getTask({ id: "x" });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("an Authorization without a credential does not take the place of a credential", async () => {
    await using server = await rpcServer(task);
    const credentials = () => ({ headers: { authorization: "Bearer token" } });
    await using client = await Client.connect(server.card, { credentials, headers: { authorization: "Bearer " } });
    await client.getTask({ id: "x" });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer token");
  });
});

describe("a data: URL as the URL of a file", () => {
  it.each([
    ["data:text/csv;base64,YSxi", "text/csv", "a,b"],
    ["data:text/csv;charset=utf-8;base64,YSxi\nYw==", "text/csv;charset=utf-8", "a,bc"],
    ["data:,a%20b%2C", undefined, "a b,"],
    ["DATA:text/plain;charset=utf-8,%C3%BC ü", "text/plain;charset=utf-8", "ü ü"],
    ["data:;charset=utf-8,a#b", "text/plain;charset=utf-8", "a"],
    ["data:,%zz%4%", undefined, "%zz%4%"],
  ])("a data: URL as the URL of a file gives the bytes of %j", (url, mediaType, text) => {
    const [found] = filesOf([file(url)]);
    expect(found).toMatchObject({ url: undefined, mediaType });
    expect(new TextDecoder().decode(found?.bytes())).toBe(text);
  });

  it("a data: URL that is malformed is an error with the path of the part", () => {
    const [found] = filesOf([file("data:;base64,%%%")]);
    expect(() => found?.bytes()).toThrow(expect.objectContaining({ code: "invalidParams" }));
  });

  it("a data: URL that is long and has no comma is the URL of a file like any other", () => {
    const url = `data:${"a".repeat(20_000_000)}`;
    const [found] = filesOf([file(url)]);
    expect(found?.url).toBe(url);
  });
});

describe("a preferred binding", () => {
  it.each([
    ["grpc", /prefer\[0\] must be .*, not "grpc": did you mean "GRPC"\?/],
    ["HTTP_JSON", /did you mean "HTTP\+JSON"\?/],
    ["carrier pigeon", /prefer\[0\] must be "JSONRPC" or /],
  ])("the preferred binding %s that does not exist is refused", async (name, message) => {
    const connecting = Client.connect(cardOf([]), { prefer: [name] });
    await expect(connecting).rejects.toBeInstanceOf(TypeError);
    await expect(connecting).rejects.toThrow(message);
  });

  it("a preferred binding may be the URI of another binding", async () => {
    await using client = await Client.connect(cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")]), {
      prefer: ["https://bindings.example/pigeon", "GRPC"],
    });
    expect(client.card.name).toBe("Declared");
  });
});
