import { createServer } from "node:http";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { gatewayCard } from "../../src/gateway/card.js";
import { authorizationExtension } from "../../src/protocol/authorization/request.js";
import { idempotentSendExtension, resumeExtension } from "../../src/protocol/extensions.js";
import { type AgentCard, AgentCardSchema } from "../../src/protocol/model.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { serveHttp } from "../support/http-agent.js";
import { errorOf, requestOf, say } from "../support/say.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";
import { startScene } from "./scene.js";

const full = create(AgentCardSchema, {
  name: "Harbour",
  description: "Finds berths",
  version: "3.1.4",
  provider: { organization: "Port", url: "https://port.example" },
  documentationUrl: "https://port.example/docs",
  iconUrl: "https://port.example/icon.png",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["application/json"],
  capabilities: { streaming: false, extensions: [{ uri: "urn:example:x", description: "x", required: true }] },
  skills: [
    {
      id: "berth",
      name: "Berth",
      description: "Finds one",
      tags: ["port"],
      securityRequirements: [{ schemes: { token: { list: ["read"] } } }, { schemes: { key: {} } }],
    },
  ],
  securitySchemes: {
    token: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "bearer" } } },
    login: { scheme: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: "https://id.example" } } },
    key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Key" } } },
    query: { scheme: { case: "apiKeySecurityScheme", value: { location: "query", name: "key" } } },
    cookie: { scheme: { case: "apiKeySecurityScheme", value: { location: "cookie", name: "s" } } },
    tls: { scheme: { case: "mtlsSecurityScheme", value: {} } },
  },
  securityRequirements: [
    { schemes: { token: {} } },
    { schemes: { token: {}, key: {} } },
    { schemes: { tls: {} } },
    { schemes: {} },
  ],
  supportedInterfaces: [{ url: "https://old.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  signatures: [{ protected: "p", signature: "s" }],
});

const shown = (...forward: string[]): AgentCard =>
  gatewayCard(full, { forward: new Set(forward), pushNotifications: true, extendedAgentCard: true });

describe("the card of a gateway", () => {
  it("the card of a gateway repeats the agent's card, without its addresses and signatures", () => {
    const { supportedInterfaces, signatures, capabilities, securitySchemes, securityRequirements, skills, ...rest } =
      shown("authorization");
    expect([supportedInterfaces, signatures]).toEqual([[], []]);
    expect(full).toMatchObject(rest);
    expect(capabilities).toMatchObject({ streaming: true, pushNotifications: true, extendedAgentCard: true });
    expect(capabilities?.extensions).toEqual(full.capabilities?.extensions);
    expect(skills[0]).toMatchObject({ id: "berth", name: "Berth", tags: ["port"] });
    expect(full.signatures).toHaveLength(1);
  });

  it.each([
    { forward: [], schemes: [], requirements: [[]] },
    { forward: ["authorization"], schemes: ["token", "login"], requirements: [["token"], []] },
    {
      forward: ["authorization", "x-key"],
      schemes: ["token", "login", "key"],
      requirements: [["token"], ["token", "key"], []],
    },
    { forward: ["cookie"], schemes: ["cookie"], requirements: [[]] },
  ])(
    "the card of a gateway shows the security schemes whose secrets reach the agent: $forward",
    ({ forward, schemes, requirements }) => {
      const card = shown(...forward);
      expect(Object.keys(card.securitySchemes)).toEqual(schemes);
      expect(card.securityRequirements.map((each) => Object.keys(each.schemes))).toEqual(requirements);
      const ofSkill = card.skills[0]?.securityRequirements.map((each) => Object.keys(each.schemes));
      expect(ofSkill).toEqual([["token"], ["key"]].filter(([name = ""]) => schemes.includes(name)));
    },
  );

  it("the card of a gateway lists the gateway's own addresses, and the extensions of the agent", async () => {
    await using scene = await startScene({ gateway: { publicUrl: "https://front.example/a", versions: ["1.0"] } });
    const { supportedInterfaces, capabilities, name, version } = scene.gateway.card;
    expect(supportedInterfaces.map(({ protocolBinding, url }) => `${protocolBinding} ${url}`)).toEqual([
      "JSONRPC https://front.example/a/json-rpc",
      "GRPC front.example:443",
      "HTTP+JSON https://front.example/a/http-json",
      "urn:trivium:binding:connect:v1 https://front.example/a",
    ]);
    expect([name, version]).toEqual(["Behind", "1.2.3"]);
    const listed = [idempotentSendExtension, resumeExtension, authorizationExtension];
    expect(capabilities?.extensions.map(({ uri }) => uri)).toEqual(listed);
  });

  it("the card of a gateway offers the agent's extended card with the gateway's addresses", async () => {
    const card = { name: "Behind", description: "Shows more", version: "1", extended: { name: "Behind and more" } };
    const authenticate = () => ({ owner: "ada" });
    await using anonymous = await startScene({ behind: { card, authenticate } });
    expect(anonymous.gateway.card.capabilities?.extendedAgentCard).toBe(false);
    const anonymousOperations = (await anonymous.over("JSONRPC")).operations;
    const refused = await errorOf(anonymousOperations.getExtendedAgentCard(requestOf("getExtendedAgentCard"), {}));
    expect(refused.code).toBe("unsupportedOperation");

    await using scene = await startScene({ behind: { card, authenticate }, gateway: { forward: ["authorization"] } });
    expect(scene.gateway.card.capabilities?.extendedAgentCard).toBe(true);
    for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"] as const) {
      const { operations } = await scene.over(binding);
      const extended = await operations.getExtendedAgentCard(requestOf("getExtendedAgentCard"), {});
      expect(extended.name).toBe("Behind and more");
      expect(extended.supportedInterfaces).toEqual(scene.gateway.card.supportedInterfaces);
    }
  });
});

/** A server of a card that can be changed or removed. */
async function cardPlace(first: AgentCard) {
  const place = { card: first as AgentCard | undefined, reads: 0 };
  let nextRead = Promise.withResolvers<void>();
  const server = await serveHttp(
    createServer((_, response) => {
      place.reads++;
      if (place.card === undefined) response.writeHead(503).end();
      else
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(v1.writeCard(place.card)));
      response.once("close", () => {
        nextRead.resolve();
        nextRead = Promise.withResolvers();
      });
    }),
  );
  return Object.assign(place, {
    url: server.url,
    read: () => nextRead.promise,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  });
}

const cardAt = async (url: string): Promise<{ name: string; etag: string | null }> => {
  const response = await fetch(`${url}/.well-known/agent-card.json`);
  return { name: ((await response.json()) as { name: string }).name, etag: response.headers.get("etag") };
};

describe("the card behind a gateway", () => {
  it("the card behind a gateway is refreshed every five minutes, and its last copy is served meanwhile", async () => {
    await using one = await startScene();
    await using place = await cardPlace(one.behind.card);
    const clock = createVirtualClock();
    await using scene = await startScene({ gateway: { upstream: place.url, clock, client: { retry: false } } });
    const before = await cardAt(scene.gateway.url);
    expect(before.name).toBe("Behind");

    place.card = { ...one.behind.card, name: "Behind, and renamed" };
    await clock.advance(299_000);
    expect([place.reads, (await cardAt(scene.gateway.url)).name]).toEqual([1, "Behind"]);
    const read = place.read();
    await clock.advance(1_000);
    await read;
    await expect.poll(async () => (await cardAt(scene.gateway.url)).name).toBe("Behind, and renamed");
    const after = await cardAt(scene.gateway.url);
    expect(after.etag).not.toBe(before.etag);

    place.card = undefined;
    const again = place.read();
    await clock.advance(300_000);
    await again;
    await settle();
    expect(await cardAt(scene.gateway.url)).toEqual(after);
    await expect
      .poll(() => scene.log.map(({ message }) => message))
      .toContain("the card of the agent behind the gateway could not be read again");
  });

  it("the card behind a gateway is refreshed after a failed call, because the agent may have moved", async () => {
    await using one = await startScene();
    await using other = await startScene();
    await using place = await cardPlace(one.behind.card);
    const clock = createVirtualClock();
    // No timer but one for the card would be pending.
    const limits = { heapMaxRatio: false, containerMaxRatio: false, eventLoopMaxMs: false } as const;
    await using scene = await startScene({
      gateway: { upstream: place.url, clock, refreshMs: 0, client: { retry: false }, limits },
    });
    const { operations } = await scene.over("JSONRPC");
    await operations.sendMessage(say("echo before"), {});
    expect(clock.pending()).toEqual([]);
    await one.behind.close();
    place.card = other.behind.card;
    await clock.advance(5_000);
    const read = place.read();
    expect((await errorOf(operations.sendMessage(say("echo lost"), {}))).code).toBe("unavailable");
    await read;
    await expect.poll(() => scene.gateway.upstream).toBeUndefined();
    await operations.sendMessage(say("echo found"), {});
    expect(scene.gateway.upstream?.url).toContain(String(other.behind.port));
  });
});
