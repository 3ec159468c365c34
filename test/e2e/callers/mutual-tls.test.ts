import { Client, type Principal, reply, type ServeOptions, type Server, serve } from "trivium";
import { apiKey, basic, bearerJwt, mutualTls } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Authority, createAuthority } from "../../support/certificates.js";
import { errorOf, say } from "../../support/say.js";

// Client certificates, over TLS here and as a proxy reports them.

const card = { name: "Mesh", description: "Knows its callers by their certificates", version: "1.0.0" };

let mesh: Authority;
let others: Authority;
let localhost: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  [mesh, others] = await Promise.all([createAuthority("mesh"), createAuthority("others")]);
  localhost = await mesh.issue("localhost", { type: "dns", value: "localhost" }, { type: "ip", value: "127.0.0.1" });
});

interface Served {
  readonly server: Server;
  readonly principals: readonly Principal[];
}

async function meshAgent(options: Partial<ServeOptions>): Promise<Served> {
  const principals: Principal[] = [];
  const server = await serve({
    card,
    port: 0,
    logger: false,
    ...options,
    async agent({ principal }) {
      principals.push(principal);
      return reply("welcome");
    },
  });
  return { server, principals };
}

describe.each(["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"] as const)("over TLS and %s", (binding) => {
  let served: Served;
  beforeAll(async () => {
    const keyed = apiKey({ in: "header", name: "x-key", verify: (key) => key === "k" && "robot" });
    served = await meshAgent({
      tls: localhost,
      bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
      auth: { schemes: { mesh: mutualTls({ ca: mesh.ca }), key: keyed } },
    });
  });
  afterAll(() => served.server.close());

  const connect = (tls: object, headers = {}): Promise<Client> =>
    Client.connect(served.server.url, { prefer: [binding], tls: { ca: mesh.ca, ...tls }, retry: false, headers });

  it("a certificate names the owner by its URI", async () => {
    const pair = await mesh.issue("weather", { type: "url", value: "spiffe://example/weather" });
    await using client = await connect(pair);
    expect((await client.send("hello")).text).toBe("welcome");
    expect(served.principals.at(-1)).toMatchObject({ owner: "mesh#spiffe://example/weather", scheme: "mesh" });
  });

  it("a certificate without a URI names the owner by its subject", async () => {
    await using client = await connect(await mesh.issue("tides"));
    await client.send("hello");
    expect(served.principals.at(-1)).toMatchObject({ owner: "mesh#CN=tides" });
  });

  it("a caller without a certificate gets the card, and is refused or uses another scheme", async () => {
    const count = served.principals.length;
    await using client = await connect({}, {});
    expect(await errorOf(client.operations.sendMessage(say("hello"), {}))).toMatchObject({ code: "unauthenticated" });
    expect(served.principals).toHaveLength(count);
    await using keyed = await connect({}, { "x-key": "k" });
    await keyed.send("hello");
    expect(served.principals.at(-1)).toMatchObject({ owner: "key#robot" });
  });

  it("a certificate of another authority ends the connection", async () => {
    const count = served.principals.length;
    const stranger = await others.issue("stranger");
    await expect(connect(stranger).then((client) => client.send("hello"))).rejects.toThrow();
    expect(served.principals).toHaveLength(count);
  });
});

describe("behind a proxy", () => {
  const forwarded =
    'By=spiffe://example/proxy;Hash=ab;Subject="CN=weather,O=\\"Example\\"";URI=spiffe://example/weather';

  async function callWith(header: string, trustProxy: ServeOptions["trustProxy"]): Promise<[number, Served]> {
    const subject = mutualTls({ subject: ({ names, subject }) => `${names.join("+")} ${subject}` });
    const served = await meshAgent({ trustProxy, auth: { schemes: { mesh: subject } } });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
    const answer = await fetch(`${served.server.url}/http-json/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", "x-forwarded-client-cert": header },
      body: JSON.stringify({ message }),
    });
    await served.server.close();
    return [answer.status, served];
  }

  it("a trusted proxy reports the certificate of its caller", async () => {
    const [status, { principals }] = await callWith(forwarded, ["127.0.0.1"]);
    expect(status).toBe(200);
    expect(principals).toEqual([
      expect.objectContaining({ owner: 'mesh#URI:spiffe://example/weather CN=weather,O=\\"Example\\"' }),
    ]);
  });

  it("a comma in a name of the subject begins no other name", async () => {
    const [, { principals }] = await callWith('Hash=ab;Subject="CN=weather\\,O=Example"', ["127.0.0.1"]);
    expect(principals.map(({ owner }) => owner)).toEqual(["mesh# CN=weather\\,O=Example"]);
  });

  it("the certificate that the nearest of several hops reports counts", async () => {
    const [, { principals }] = await callWith(`URI=spiffe://example/far,${forwarded}`, ["127.0.0.1"]);
    expect(principals[0]?.owner).toMatch(/^mesh#URI:spiffe:\/\/example\/weather /);
  });

  it("the certificate of the proxy's own connection is not its caller's", async () => {
    const proxy = await mesh.issue("proxy", { type: "url", value: "spiffe://example/proxy" });
    const served = await meshAgent({
      tls: localhost,
      trustProxy: ["127.0.0.1"],
      auth: { schemes: { mesh: mutualTls({ ca: mesh.ca }) } },
    });
    const calledWith = async (headers: Record<string, string>): Promise<unknown> => {
      await using client = await Client.connect(served.server.url, { tls: { ca: mesh.ca, ...proxy }, headers });
      return await client.send("hello").then(
        ({ text }) => text,
        ({ code }) => code,
      );
    };
    const answers = [await calledWith({}), await calledWith({ "x-forwarded-client-cert": forwarded })];
    await served.server.close();
    expect(answers).toEqual(["unauthenticated", "welcome"]);
    expect(served.principals.map(({ owner }) => owner)).toEqual(["mesh#spiffe://example/weather"]);
  });

  // What a caller writes comes before what a proxy appends.
  const appended = 'By=spiffe://example/proxy;Hash=ab;Subject="CN=weather"';
  it.each([
    ["leaves a quote open", `URI=spiffe://example/root;X=",${appended}`],
    ["leaves a quote open before a certificate", `URI=spiffe://example/root;X=",Cert="ab";${appended}`],
    ["escapes a quote", `URI=spiffe://example/root;X="\\",${appended}`],
    ["names no member", `URI=spiffe://example/root;",${appended}`],
    ["hides a name in another", `${appended};X-URI=spiffe://example/root`],
  ])("a header that %s proves nothing", async (_, header) => {
    const [status, { principals }] = await callWith(header, ["127.0.0.1"]);
    expect([status, principals]).toEqual([401, []]);
  });

  it.each<[string, string, ServeOptions["trustProxy"]]>([
    ["another address than the trusted ones", forwarded, ["10.0.0.0/8"]],
    ["a proxy that reports nothing", "", ["127.0.0.1"]],
    ["a proxy that reports no name", "Hash=ab", ["127.0.0.1"]],
    ["a proxy that reports too much", `URI=${"x".repeat(17_000)}`, ["127.0.0.1"]],
  ])("%s proves nothing", async (_, header, trustProxy) => {
    const [status, { principals }] = await callWith(header, trustProxy);
    expect([status, principals]).toEqual([status === 431 ? 431 : 401, []]);
  });
});

it.each<[string, object, string]>([
  [
    "certificates that cannot be shown",
    { schemes: { m: mutualTls() } },
    "auth.schemes.m reads client certificates: give `tls`",
  ],
  ["no scheme", { schemes: {} }, "auth.schemes is empty"],
  ["something else as a scheme", { schemes: { m: {} } }, "auth.schemes.m is not a security scheme"],
  [
    "a scheme that is not declared",
    { schemes: keys(), require: [["keyy"]] },
    'auth.require names "keyy", which is not a scheme of auth.schemes: did you mean "key"?',
  ],
  [
    "an operation that does not exist",
    { schemes: keys(), operations: { cancelTasks: [["key"]] } },
    'auth.operations.cancelTasks is not an operation: did you mean "cancelTask"?',
  ],
  [
    "a skill that the card does not have",
    { schemes: keys(), skills: { mesch: [["key"]] } },
    'auth.skills.mesch is not a skill of the card: did you mean "mesh"?',
  ],
  [
    "no alternative",
    { schemes: keys(), require: [] },
    "auth.require is empty, which no call satisfies: leave it out, or use [[]] to require nothing",
  ],
  [
    "no alternative for an operation",
    { schemes: keys(), operations: { cancelTask: [] } },
    "auth.operations.cancelTask is",
  ],
  ["no alternative for a skill", { schemes: keys(), skills: { mesh: [] } }, "auth.skills.mesh is empty"],
  [
    "two scopes in one text",
    { schemes: keys(), require: [{ key: ["read write"] }] },
    'auth.require names the scope "read write": scopes are text without spaces and quotes',
  ],
  [
    "a token and a password in one call",
    {
      schemes: {
        token: bearerJwt({ issuer: "https://id.example", audience: "a" }),
        desk: basic({ verify: () => "b" }),
      },
      require: [["token", "desk"]],
    },
    "auth requires token and desk of one call, which has a single Authorization header",
  ],
])("a server with %s does not start", async (_, auth, message) => {
  await expect(meshAgent({ auth } as Partial<ServeOptions>)).rejects.toThrow(message);
});

it("a header reports no certificate where every caller counts as a proxy", async () => {
  const mesh = { schemes: { mesh: mutualTls() } };
  await expect(meshAgent({ auth: mesh, trustProxy: true })).rejects.toThrow(
    "the addresses of a proxy that reports them",
  );
});

it("a server with auth and authenticate does not start", async () => {
  const both = { auth: { schemes: keys() }, authenticate: () => ({ owner: "o" }) };
  await expect(meshAgent(both)).rejects.toThrow("set `auth` or `authenticate`, not both: each identifies the caller");
});

describe("what authenticate checks", () => {
  const authenticate = () => ({ owner: "o" });
  const token = { httpAuthSecurityScheme: { scheme: "Bearer" } };

  it("what authenticate checks can be declared in the card", async () => {
    const { server } = await meshAgent({
      authenticate,
      securityDeclaration: { schemes: { token }, skills: { mesh: [{ token: ["a"] }] } },
    });
    await using _ = server;
    const card = (await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()) as Record<string, unknown>;
    expect(card["securitySchemes"]).toMatchObject({ token });
    expect(card["securityRequirements"]).toEqual([{ schemes: { token: {} } }]);
    expect(card["skills"]).toMatchObject([{ securityRequirements: [{ schemes: { token: { list: ["a"] } } }] }]);
    expect(card["security"]).toEqual([{ token: [] }]);
  });

  it.each<[string, object, string]>([
    [
      "without authenticate",
      { securityDeclaration: { schemes: { token } } },
      "securityDeclaration needs `authenticate`: set it too",
    ],
    ["with no scheme", { authenticate, securityDeclaration: { schemes: {} } }, "securityDeclaration.schemes is empty"],
    [
      "with an empty scheme",
      { authenticate, securityDeclaration: { schemes: { token: {} } } },
      "securityDeclaration.schemes: token has no member",
    ],
    [
      "with another form",
      { authenticate, securityDeclaration: { schemes: { token: { type: "http" } } } },
      "securityDeclaration.schemes: ",
    ],
    [
      "with a scheme that is required and missing",
      { authenticate, securityDeclaration: { schemes: { token }, require: [["x"]] } },
      'securityDeclaration.require names "x"',
    ],
    [
      "with no alternative",
      { authenticate, securityDeclaration: { schemes: { token }, require: [] } },
      "securityDeclaration.require is empty",
    ],
  ])("what authenticate checks cannot be declared %s", async (_, options, message) => {
    await expect(meshAgent(options)).rejects.toThrow(message);
  });
});

function keys() {
  return { key: apiKey({ in: "query", name: "key", verify: (key) => key }) };
}
