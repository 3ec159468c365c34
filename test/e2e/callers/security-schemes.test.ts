import { generateKeyPairSync, sign } from "node:crypto";
import { type AuthOptions, completed, type Principal, reply } from "trivium";
import { apiKey, basic, bearerJwt } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { errorOf, requestOf, say, taskOf } from "../../support/say.js";
import { overEveryWire, startAgent } from "../../support/serve-agent.js";

// Callers with and without credentials, over every binding in every version.

const issuer = "https://id.example";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" });

interface TokenFacts {
  readonly [claim: string]: unknown;
}

function token(facts: TokenFacts = {}, key = privateKey): string {
  const seconds = Date.now() / 1000;
  const claims = { iss: issuer, aud: "weather", sub: "alice", exp: seconds + 600, ...facts };
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const input = `${encoded({ alg: "ES256" })}.${encoded(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
const basicly = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` });

const auth: AuthOptions = {
  schemes: {
    user: bearerJwt({ issuer, audience: "weather", key: publicKey }),
    service: apiKey({ in: "header", name: "X-Api-Key", verify: (key) => (key === "k-1" ? "robot" : undefined) }),
    desk: basic({ verify: (name, word) => name === "bob" && word === "s:e" && { subject: name, scopes: ["book"] } }),
  },
  require: [["user"], ["service", "desk"]],
  operations: { cancelTask: [{ user: ["tasks:write"] }] },
  skills: { book: [{ user: ["book"] }, ["desk"]] },
};

const card = {
  name: "Harbour",
  description: "Books berths",
  version: "1.0.0",
  skills: [
    { id: "book", name: "Book", description: "Books a berth", tags: ["berth"] },
    { id: "ask", name: "Ask", description: "Answers", tags: ["question"] },
  ],
};

const both = { "x-api-key": "k-1", ...basicly("bob:s:e") };
const hour = 3600;
const anyChallenge = 'Bearer, ApiKey in="header", name="X-Api-Key", Basic realm="agent", charset="UTF-8"';

overEveryWire((_, wire) => {
  async function harbour() {
    const principals: Principal[] = [];
    const served = await startAgent(wire, {
      auth,
      card,
      async agent({ principal, text }) {
        principals.push(principal);
        return text === "task" ? completed() : reply("welcome");
      },
    });
    return { served, principals, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() };
  }

  it.each([
    ["no credential", {}, "authentication is required: user, or service and desk"],
    ["a token of another key", bearer(token({}, foreign.privateKey)), "the token is not valid"],
    ["an expired token", bearer(token({ exp: 1 })), "the token has expired"],
    [
      "a token that is not valid yet",
      bearer(token({ nbf: Date.now() / 1000 + hour })),
      "the token's claim nbf is in the future",
    ],
    ["a token for another agent", bearer(token({ aud: "travel" })), "the token's claim aud does not name this agent"],
    ["a token of another issuer", bearer(token({ iss: "https://evil" })), "the token's claim iss names another issuer"],
    ["a wrong key beside the right password", { ...both, "x-api-key": "k-2" }, "the API key is not known"],
    [
      "a wrong password beside the right key",
      { ...both, ...basicly("bob:x") },
      "the username or the password is wrong",
    ],
    [
      "a password that is no base64",
      { ...both, authorization: "Basic {}" },
      "the credential of Basic is not base64 of a name and a password",
    ],
    ["half of an alternative", { "x-api-key": "k-1" }, "authentication is required: user, or service and desk"],
  ])("a call with %s is refused before the agent runs", async (_, headers, message) => {
    await using here = await harbour();
    const error = await errorOf(here.served.transport.sendMessage(say("go"), { headers }));
    expect(error).toMatchObject({ code: "unauthenticated", message });
    expect(here.principals).toEqual([]);
    expect(JSON.stringify(here.served.log)).not.toMatch(/k-[12]|s:e|Bearer ey|eyJ/);
  });

  it.each([
    ["a token", bearer(token({ scope: "read" })), { owner: `${issuer}#alice`, scheme: "user", scopes: ["read"] }],
    ["both of an alternative", both, { owner: "service#robot", scheme: "service", scopes: [] }],
  ])("a call with %s reaches the agent, which knows its principal", async (_, headers, principal) => {
    await using here = await harbour();
    await here.served.transport.sendMessage(say("go"), { headers });
    expect(here.principals).toEqual([expect.objectContaining(principal)]);
  });

  it("an operation that requires a scope is refused without, and names what is missing", async () => {
    await using here = await harbour();
    const { transport: bare } = here.served;
    const { id } = taskOf(await bare.sendMessage(say("task"), { headers: bearer(token()) }));
    const cancel = (headers: Record<string, string>) =>
      errorOf(bare.cancelTask(requestOf("cancelTask", { id }), { headers }));
    expect(await cancel(bearer(token()))).toMatchObject({
      code: "permissionDenied",
      message: "missing scopes: tasks:write",
    });
    expect(await cancel(bearer(token({ scope: "tasks:write" })))).toMatchObject({ code: "taskNotCancelable" });
    expect(await cancel(both)).toMatchObject({ code: "unauthenticated" });
  });

  it("a message to a skill is held to what the skill requires", async () => {
    await using here = await harbour();
    const send = (skillId: string, headers: Record<string, string>) => {
      const request = say("go");
      if (request.message !== undefined) request.message.metadata = { skillId };
      return here.served.transport.sendMessage(request, { headers });
    };
    await send("ask", bearer(token()));
    expect(await errorOf(send("book", bearer(token())))).toMatchObject({
      code: "permissionDenied",
      message: "missing scopes: book",
    });
    await send("book", bearer(token({ scope: "book" })));
    await send("book", both);
    expect(here.principals).toHaveLength(3);
  });

  it("two callers do not see each other's tasks", async () => {
    await using here = await harbour();
    const { transport: bare } = here.served;
    const { id } = taskOf(await bare.sendMessage(say("task"), { headers: bearer(token()) }));
    const get = (sub: string) => bare.getTask(requestOf("getTask", { id }), { headers: bearer(token({ sub })) });
    expect((await get("alice")).id).toBe(id);
    expect(await errorOf(get("mallory"))).toMatchObject({ code: "taskNotFound" });
  });
});

describe("the answer over HTTP", () => {
  async function post(headers: Record<string, string>, path = "/http-json/message:send"): Promise<Response> {
    await using served = await startAgent("HTTP+JSON", { auth, card, agent: async () => reply("welcome") });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }], metadata: { skillId: "book" } };
    const own = { "content-type": "application/json", "a2a-version": "1.0" };
    return await fetch(served.server.url + path, {
      method: "POST",
      headers: { ...own, ...headers },
      body: JSON.stringify({ message }),
    });
  }

  it("the answer to a caller without a credential challenges by each scheme that would do", async () => {
    const { status, headers } = await post({});
    expect([status, headers.get("www-authenticate")]).toEqual([401, anyChallenge]);
  });

  it("the answer to a wrong token says what is wrong with it", async () => {
    const { status, headers } = await post(bearer(token({ exp: 1 })));
    const wrong = 'Bearer error="invalid_token", error_description="the token has expired"';
    expect([status, headers.get("www-authenticate")]).toEqual([401, anyChallenge.replace("Bearer", wrong)]);
  });

  it("the answer to a token without scopes names the missing ones", async () => {
    const { status, headers } = await post(bearer(token()));
    expect([status, headers.get("www-authenticate")]).toEqual([403, 'Bearer error="insufficient_scope", scope="book"']);
  });

  it("a caller is refused by its headers before a byte of the body is read", async () => {
    await using served = await startAgent("JSONRPC", { auth, card, agent: async () => reply("welcome") });
    const first = new TextEncoder().encode("{");
    const body = new ReadableStream({ start: (source) => source.enqueue(first), pull: () => new Promise(() => {}) });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body, duplex: "half" } as const;
    expect((await fetch(`${served.server.url}/json-rpc`, init)).status).toBe(401);
  });
});

interface ShownCard {
  readonly securitySchemes: object;
  readonly securityRequirements?: object;
  readonly security?: object;
  readonly authentication: { readonly schemes: readonly string[] };
  readonly skills: readonly [{ securityRequirements?: object }, { securityRequirements?: object }];
}

describe("the card", () => {
  async function cardOf(version: string) {
    await using served = await startAgent("JSONRPC", { auth, card, agent: async () => reply("welcome") });
    const answer = await fetch(`${served.server.url}/.well-known/agent-card.json`, {
      headers: { "a2a-version": version },
    });
    return (await answer.json()) as ShownCard;
  }

  it("the card shows schemes and requirements in the form of 1.0, to everybody", async () => {
    const { securitySchemes, securityRequirements, skills } = await cardOf("1.0");
    expect(securitySchemes).toEqual({
      user: { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
      service: { apiKeySecurityScheme: { location: "header", name: "X-Api-Key" } },
      desk: { httpAuthSecurityScheme: { scheme: "Basic" } },
    });
    expect(securityRequirements).toEqual([{ schemes: { user: {} } }, { schemes: { service: {}, desk: {} } }]);
    expect(skills[0].securityRequirements).toEqual([
      { schemes: { user: { list: ["book"] } } },
      { schemes: { desk: {} } },
    ]);
    expect(skills[1].securityRequirements).toBeUndefined();
  });

  it.each(["0.3", "0.2"])("the card shows schemes and requirements in the form of %s", async (version) => {
    const { securitySchemes, security } = await cardOf(version);
    expect(securitySchemes).toMatchObject({
      user: { type: "http", scheme: "Bearer", bearerFormat: "JWT" },
      service: { type: "apiKey", in: "header", name: "X-Api-Key" },
    });
    expect(security).toEqual([{ user: [] }, { service: [], desk: [] }]);
  });

  it("the card shows the schemes that 0.1 has room for", async () => {
    expect((await cardOf("0.1")).authentication.schemes).toEqual(["Bearer"]);
  });
});
