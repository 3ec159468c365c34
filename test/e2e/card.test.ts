import { request as httpsRequest } from "node:https";
import { type AuthOptions, completed, type Principal } from "trivium";
import { apiKey } from "trivium/auth";
import { expect, it } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { adapter } from "../support/grpc-agent.js";
import { rawCall } from "../support/http-agent.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../support/say.js";
import { overEach, startAgent, type Wire, wires } from "../support/serve-agent.js";
import { localTls } from "../support/tls.js";
import { wireRow } from "../support/wires.js";

const agent = async () => completed();
const card = { name: "Carded", description: "Has a card", version: "3.2.1" };
const cardPath = "/.well-known/agent-card.json";
const getCard = (url: string, headers = {}) => rawCall(url + cardPath, { method: "GET", headers });
const extendedCard = requestOf("getExtendedAgentCard");
const options = { authenticate: () => ({ owner: "me", level: "gold" }), agent };

// Requirements: V1-SEL-1, V1-CARD-1, V1-CARD-2, V1-CARD-4, V1-CARD-6, V1-CARD-10, V03-CARD-10
it("the card lists every active binding at its real URL, in order of preference", async () => {
  await using served = await startAgent("JSONRPC", { card, agent });
  const { status, headers, text } = await getCard(served.server.url);
  const { port, url } = served.server;
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("application/json");
  expect(JSON.parse(text)).toMatchObject({
    ...card,
    supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) => [
      { url: `${url}/json-rpc`, protocolBinding: "JSONRPC", protocolVersion },
      { url: `127.0.0.1:${port}`, protocolBinding: "GRPC", protocolVersion },
      { url: `${url}/http-json`, protocolBinding: "HTTP+JSON", protocolVersion },
    ]),
    protocolVersion: "0.3.0",
    url: `${url}/json-rpc`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: `${url}/json-rpc`, transport: "JSONRPC" },
      { url: `127.0.0.1:${port}`, transport: "GRPC" },
      { url: `${url}/http-json`, transport: "HTTP+JSON" },
    ],
    supportsAuthenticatedExtendedCard: false,
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ name: "Carded" }],
  });
});

// Requirements: V1-CARD-3
it("the card lists the mounted bindings, in mount order", async () => {
  await using served = await startAgent("HTTP+JSON", { card, agent, bindings: ["HTTP+JSON", "JSONRPC"] });
  const { text } = await getCard(served.server.url, { "A2A-Version": "0.3" });
  const { url, preferredTransport, additionalInterfaces } = JSON.parse(text);
  expect([url, preferredTransport]).toEqual([`${served.server.url}/json-rpc`, "JSONRPC"]);
  expect(additionalInterfaces.map((each: { transport: string }) => each.transport)).toEqual(["HTTP+JSON", "JSONRPC"]);
  const newest = await getCard(served.server.url, { "A2A-Version": "1.0" });
  const bindings = JSON.parse(newest.text).supportedInterfaces.map(
    (each: { protocolBinding: string }) => each.protocolBinding,
  );
  expect(bindings.slice(0, 4)).toEqual(["HTTP+JSON", "JSONRPC", "HTTP+JSON", "JSONRPC"]);
});

const memberOf = { "1.0": "supportedInterfaces", "0.3": "additionalInterfaces", "0.2": "url", "0.1": "url" } as const;

it.each(Object.entries(memberOf))(
  "a reader that declares version %s gets its own card, at both paths",
  async (version, member) => {
    await using served = await startAgent("JSONRPC", { card, agent });
    const headers = { "A2A-Version": version };
    const paths = [cardPath, "/.well-known/agent.json"];
    const [one, other] = await Promise.all(
      paths.map((path) => rawCall(served.server.url + path, { method: "GET", headers })),
    );
    expect(one?.headers.vary).toBe("A2A-Version");
    expect(other?.text).toBe(one?.text);
    const pure = JSON.parse(one?.text ?? "");
    expect(pure).toHaveProperty(member);
    expect(pure.protocolVersion).toBe({ "0.3": "0.3.0", "0.2": "0.2.6" }[version]);
    expect("supportedInterfaces" in pure).toBe(version === "1.0");
  },
);

it("a card for one version contains only fields of that version", async () => {
  await using served = await startAgent("JSONRPC", { card: { ...card, audience: "1.0" }, agent });
  const { text, headers } = await getCard(served.server.url);
  expect(JSON.parse(text)).not.toHaveProperty("preferredTransport");
  expect(headers.vary).toBe("A2A-Version");
});

it("an agent that serves one version has one card for all callers", async () => {
  await using served = await startAgent("JSONRPC", { card, agent, versions: ["1.0"] });
  const { text, headers } = await getCard(served.server.url);
  expect(JSON.parse(text)).not.toHaveProperty("url");
  expect(headers.vary).toBeUndefined();
  const old = await getCard(served.server.url, { "A2A-Version": "0.3" });
  expect(old.text).toBe(text);
});

// Requirements: V1-CACHE-1, V1-CACHE-2, V1-CACHE-3
it("the card is cacheable, and a fresh copy is not sent again", async () => {
  await using served = await startAgent("JSONRPC", { card, agent });
  const { headers } = await getCard(served.server.url);
  expect(headers["cache-control"]).toMatch(/max-age=\d+/);
  expect(headers["last-modified"]).toBeDefined();
  const again = await getCard(served.server.url, { "If-None-Match": headers.etag });
  expect([again.status, again.text]).toEqual([304, ""]);
  const changed = await getCard(served.server.url, { "If-None-Match": '"another"' });
  expect(changed.status).toBe(200);
});

it("the card needs no authentication, even when calls do", async () => {
  const authenticate = () => {
    throw new Error("nobody");
  };
  await using served = await startAgent("JSONRPC", { card, agent, authenticate });
  expect((await getCard(served.server.url)).status).toBe(200);
});

// Requirements: V1-GRPC-2, V1-CARD-4, V1-CARD-8, V1-CARD-10, V1-SEC-1, V03-TRANS-1
it("calls work over TLS, and the card lists https URLs", async () => {
  await using served = await startAgent("JSONRPC", { card, agent, tls: localTls });
  const { url, port } = served.server;
  expect(url).toBe(`https://127.0.0.1:${port}`);
  const urls = served.server.card.supportedInterfaces.map((each) => each.url);
  expect(urls.slice(0, 3)).toEqual([`${url}/json-rpc`, `127.0.0.1:${port}`, `${url}/http-json`]);
  const grpc = createGrpcTransport({ address: `localhost:${port}`, adapter, tls: { ca: localTls.cert } });
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

// Requirements: V1-EXTCARD-7
it("an extended card is never stored by shared caches", async () => {
  await using served = await startAgent("HTTP+JSON", { ...options, card: { ...card, extended: {} } });
  const { status, headers } = await rawCall(`${served.server.url}/http-json/extendedAgentCard`, { method: "GET" });
  expect([status, headers["cache-control"]]).toEqual([200, "no-store, no-transform"]);
});

const isOldest = (wire: Wire): boolean => wireRow(wire).version === "0.1";

overEach(wires.filter(isOldest), (start) => {
  it("a call for a missing extended card is refused with that reason", async () => {
    await using served = await start({ ...options, card: { ...card, extended: {} } });
    expect(await errorOf(served.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "unsupportedOperation",
    });
  });
});

const readers = wires.filter((wire) => !isOldest(wire));

overEach(readers, (start, wire) => {
  // Before 1.0 one error stood for both.
  const undeclared = wireRow(wire).version === "1.0" ? "unsupportedOperation" : "extendedAgentCardNotConfigured";

  // Requirements: V1-EXTCARD-10, V1-CARD-7
  it("an authenticated caller sees the extended card", async () => {
    const skill = { id: "secret", name: "Secret", description: "For some", tags: ["x"] };
    await using served = await start({
      ...options,
      card: { ...card, extended: ({ level }) => ({ name: `Carded ${String(level)}`, skills: [skill] }) },
    });
    expect(served.server.card.capabilities?.extendedAgentCard).toBe(true);
    const extended = await served.client.getExtendedAgentCard(extendedCard, {});
    expect(extended.name).toBe("Carded gold");
    expect(extended.skills.map(({ id }) => id)).toContain("secret");
    expect((await getCard(served.server.url)).text).not.toContain("secret");
  });

  // Requirements: V1-EXTCARD-3, V1-EXTCARD-4, V1-CAP-1, V03-CARDX-3
  it(`an agent without an extended card answers ${undeclared}, one without it for this caller says so`, async () => {
    await using without = await start({ ...options, card });
    expect(await errorOf(without.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: undeclared,
    });
    await using nothing = await start({ ...options, card: { ...card, extended: () => undefined } });
    expect(await errorOf(nothing.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "extendedAgentCardNotConfigured",
    });
  });

  it("a caller whom an empty alternative lets in sees no extended card, and one with a credential does", async () => {
    const owners: string[] = [];
    const key = apiKey({ in: "header", name: "x-key", verify: (value) => value === "k" && "robot" });
    const extended = ({ owner }: Principal) => {
      owners.push(owner);
      return {};
    };
    const auth: AuthOptions = { schemes: { key }, require: [[], ["key"]] };
    await using served = await startAgent(wire, { agent, auth, card: { ...card, extended } });
    await served.transport.sendMessage(say("go"), {});
    const refused = await errorOf(served.transport.getExtendedAgentCard(extendedCard, {}));
    expect(refused).toMatchObject({ code: "unauthenticated" });
    await served.transport.getExtendedAgentCard(extendedCard, { headers: { "x-key": "k" } });
    expect(owners).toEqual(["key#robot"]);
  });

  // Requirements: V1-EXTCARD-2, V1-EXTCARD-10, V03-CARD-14
  it("an anonymous caller cannot see the extended card", async () => {
    let callCount = 0;
    await using served = await start({
      agent,
      authenticate: () => {
        throw new Error("nobody");
      },
      card: {
        ...card,
        extended: () => {
          callCount++;
          return {};
        },
      },
    });
    expect(await errorOf(served.client.getExtendedAgentCard(extendedCard, {}))).toMatchObject({
      code: "unauthenticated",
    });
    expect(callCount).toBe(0);
  });
});
