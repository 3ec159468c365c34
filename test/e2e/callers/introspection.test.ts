import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { SignJWT } from "jose";
import { type AuthOptions, type CallOptions, Client, reply, serve, textOf } from "trivium";
import { bearerJwt, oauth2 } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { serveHttp } from "../../support/http-agent.js";
import { say } from "../../support/say.js";

// What an authorization server is asked about opaque tokens, and how often.

const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };

const key = new TextEncoder().encode("a secret of at least thirty-two bytes");
const issuer = "https://id.example";

const jwt = await new SignJWT({ scope: "read" })
  .setProtectedHeader({ alg: "HS256" })
  .setIssuer(issuer)
  .setAudience("weather")
  .setSubject("alice")
  .setExpirationTime("1h")
  .sign(key);

type Scheme = "user" | "opaque";

/** An agent whose opaque tokens are looked up at a server that answers when the test says so. */
async function introspecting(names: readonly Scheme[], more: Partial<AuthOptions> = {}) {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => {
    responses.push(response);
    server.emit("asked");
  });
  const authority = await serveHttp(server);
  const endpoint = `${authority.url}/introspect`;
  const flows = { clientCredentials: { tokenUrl: `${authority.url}/token`, scopes: {} } };
  const all = {
    user: bearerJwt({ issuer, audience: "weather", key, algorithms: ["HS256"] }),
    opaque: oauth2({ flows, introspection: { endpoint, clientId: "weather", clientSecret: "s3cret" } }),
  };
  const schemes = Object.fromEntries(names.map((name) => [name, all[name]]));
  const agent = await serve({
    ...{ card, port: 0, logger: false },
    agent: async ({ principal }) => reply(principal.owner),
    auth: { schemes, ...more },
  });
  /** Sends a message from a client of its own, without a call before it. */
  const send = (token: string, options: CallOptions = {}): Promise<string> =>
    within(agent.url, token, async (client) => {
      const { payload } = await client.sendMessage(say("hello"), options);
      return payload.case === "message" ? textOf(payload.value) : "";
    });
  return {
    url: agent.url,
    responses,
    send,
    /** Waits until the server was asked this often in all. */
    async askedTimes(count: number) {
      while (responses.length < count) await once(server, "asked");
    },
    /** Answers each question, from now on at once. */
    answerAll(claims: object) {
      const answer = (response: ServerResponse): void => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(claims));
      };
      for (const response of responses) answer(response);
      server.on("asked", () => responses.slice(-1).forEach(answer));
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
      await authority[Symbol.asyncDispose]();
    },
  };
}

async function within<T>(url: string, token: string, use: (client: Client) => Promise<T>): Promise<T> {
  // With one interface there is nothing to probe.
  const options = { headers: { authorization: `Bearer ${token}` }, prefer: ["JSONRPC"] };
  await using client = await Client.connect(url, options);
  return await use(client);
}

describe("calls with one token", () => {
  it("calls with one token share the answer about it, also when the first caller leaves before it comes", async () => {
    await using served = await introspecting(["opaque"]);
    const leaving = new AbortController();
    const left = served.send("opaque", { signal: leaving.signal });
    await served.askedTimes(1);
    const stayed = served.send("opaque");
    leaving.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
    served.answerAll({ active: true, sub: "robot" });
    expect(await stayed).toMatch(/#robot$/);
    expect(served.responses).toHaveLength(1);
  });
});

describe("a token of one scheme, where another looks tokens up", () => {
  const calls = async (served: Awaited<ReturnType<typeof introspecting>>): Promise<number> => {
    served.answerAll({ active: false });
    expect(await served.send(jwt)).toBe(`${issuer}#alice`);
    const before = served.responses.length;
    for (let call = 0; call < 3; call++) expect(await served.send(jwt)).toBe(`${issuer}#alice`);
    return served.responses.length - before;
  };

  it("a token of one scheme is not looked up by another scheme once it is known", async () => {
    await using served = await introspecting(["user", "opaque"]);
    expect(await calls(served)).toBe(0);
  });

  it.each<[string, readonly Scheme[], Partial<AuthOptions>]>([
    ["that comes first decides who calls", ["opaque", "user"], {}],
    ["is wanted with it, if it can be", ["user", "opaque"], { require: [["user", "opaque"], ["user"]] }],
    [
      "is required by an operation",
      ["user", "opaque"],
      { require: [["user"]], operations: { cancelTask: [["opaque"]] } },
    ],
    [
      "is named to the program",
      ["user", "opaque"],
      { principal: ({ issuer, subject }) => ({ owner: `${issuer}#${subject}` }) },
    ],
  ])("a token of one scheme is looked up where the other %s", async (_, names, more) => {
    await using served = await introspecting(names, more);
    expect(await calls(served)).toBeGreaterThanOrEqual(3);
  });
});
