import { completed } from "trivium";
import { expect, it } from "vitest";
import { rawCall } from "../support/http-agent.js";
import { errorOf, requestOf } from "../support/say.js";
import { overEveryWire, startAgent } from "../support/serve-agent.js";
import { localTls } from "../support/tls.js";

const agent = async () => completed();
const card = { name: "Carded", description: "Has a card", version: "3.2.1" };
const cardPath = "/.well-known/agent-card.json";
const getCard = (url: string, headers = {}) => rawCall(url + cardPath, { method: "GET", headers });
const extendedCard = requestOf("getExtendedAgentCard");
const known = { authenticate: () => ({ owner: "me", level: "gold" }), agent };

it("the card tells of every binding where it really is, in the order of preference, and nothing that is off", async () => {
  await using served = await startAgent("json-rpc", { card, agent });
  const { status, headers, text } = await getCard(served.server.url);
  const { port, url } = served.server;
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("application/json");
  expect(JSON.parse(text)).toMatchObject({
    ...card,
    supportedInterfaces: [
      { url: `${url}/json-rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: `127.0.0.1:${port}`, protocolBinding: "GRPC", protocolVersion: "1.0" },
      { url: `${url}/http-json`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ name: "Carded" }],
  });
});

it("the card lists what was mounted, in that order", async () => {
  await using served = await startAgent("http-json", { card, agent, bindings: ["http-json", "json-rpc"] });
  const { text } = await getCard(served.server.url);
  const bindings = JSON.parse(text).supportedInterfaces.map(
    (each: { protocolBinding: string }) => each.protocolBinding,
  );
  expect(bindings).toEqual(["HTTP+JSON", "JSONRPC"]);
});

it("the card may be kept, and one that is still good is not sent again", async () => {
  await using served = await startAgent("json-rpc", { card, agent });
  const { headers } = await getCard(served.server.url);
  expect(headers["cache-control"]).toMatch(/max-age=\d+/);
  expect(headers["last-modified"]).toBeDefined();
  const again = await getCard(served.server.url, { "If-None-Match": headers.etag });
  expect([again.status, again.text]).toEqual([304, ""]);
  const changed = await getCard(served.server.url, { "If-None-Match": '"another"' });
  expect(changed.status).toBe(200);
});

it("the card is served to anybody, also where calls have to say who is asking", async () => {
  const authenticate = () => {
    throw new Error("nobody");
  };
  await using served = await startAgent("json-rpc", { card, agent, authenticate });
  expect((await getCard(served.server.url)).status).toBe(200);
});

it.each(["json-rpc", "http-json", "grpc"] as const)("calls over TLS work like any others: %s", async (wire) => {
  await using served = await startAgent(wire, { card, agent, tls: localTls });
  expect(served.server.url).toMatch(/^https:/);
  expect(served.server.card.supportedInterfaces.map(({ url }) => url.replace(/:\d+/, ""))).toContain(
    "https://127.0.0.1/json-rpc",
  );
});

overEveryWire((start) => {
  it("a caller who is known sees the extended card", async () => {
    const skill = { id: "secret", name: "Secret", description: "For some", tags: ["x"] };
    await using served = await start({
      ...known,
      card: { ...card, extended: ({ level }) => ({ name: `Carded ${String(level)}`, skills: [skill] }) },
    });
    expect(served.server.card.capabilities?.extendedAgentCard).toBe(true);
    const extended = await served.client.getExtendedAgentCard(extendedCard, {});
    expect(extended.name).toBe("Carded gold");
    expect(extended.skills.map(({ id }) => id)).toContain("secret");
    expect((await getCard(served.server.url)).text).not.toContain("secret");
  });

  it("an agent that declares none says unsupportedOperation, one that has none for this caller says that", async () => {
    await using without = await start({ ...known, card });
    expect(await errorOf(without.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "unsupportedOperation",
    });
    await using nothing = await start({ ...known, card: { ...card, extended: () => undefined } });
    expect(await errorOf(nothing.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "extendedAgentCardNotConfigured",
    });
  });

  it("nobody sees the extended card without saying who they are", async () => {
    let asked = 0;
    await using served = await start({
      agent,
      authenticate: () => {
        throw new Error("nobody");
      },
      card: {
        ...card,
        extended: () => {
          asked++;
          return {};
        },
      },
    });
    expect(await errorOf(served.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "unauthenticated",
    });
    expect(asked).toBe(0);
  });
});
