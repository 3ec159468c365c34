import { request as httpsRequest } from "node:https";
import { completed } from "trivium";
import { expect, it } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { face } from "../support/grpc-agent.js";
import { rawCall } from "../support/http-agent.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../support/say.js";
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

it("calls over TLS work like any others, and the card says https", async () => {
  await using served = await startAgent("json-rpc", { card, agent, tls: localTls });
  const { url, port } = served.server;
  expect(url).toBe(`https://127.0.0.1:${port}`);
  const urls = served.server.card.supportedInterfaces.map((each) => each.url);
  expect(urls).toEqual([`${url}/json-rpc`, `127.0.0.1:${port}`, `${url}/http-json`]);
  const grpc = createGrpcTransport({ address: `localhost:${port}`, face, tls: { ca: localTls.cert } });
  expect(stateOf(taskOf(await grpc.sendMessage(say("go"), {})))).toBe("COMPLETED");
  grpc.close();
  const call = { jsonrpc: "2.0", id: 1, method: "ListTasks" };
  const { result } = JSON.parse(await postOverTls(`https://localhost:${port}/json-rpc`, JSON.stringify(call)));
  expect(result.totalSize).toBe(1);
});

function postOverTls(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const request = httpsRequest(url, { method: "POST", ca: localTls.cert, agent: false, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => resolve(text));
    });
    request.on("error", reject).end(body);
  });
}

it("an extended card is kept by no cache that others share", async () => {
  await using served = await startAgent("http-json", { ...known, card: { ...card, extended: {} } });
  const { status, headers } = await rawCall(`${served.server.url}/http-json/extendedAgentCard`, { method: "GET" });
  expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
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
