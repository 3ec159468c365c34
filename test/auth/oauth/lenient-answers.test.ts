import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { OAuthSecret } from "../../../src/auth/credential-options.js";
import { credentialSource } from "../../../src/auth/credential-source.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { type Answer, authorizationServer, errorAnswer, tokenAnswer } from "../authorization-server.js";
import { bearer, cardWith, clientCredentials, clientSource, errorOf, oauth2, refusal } from "../sources.js";

// Answers that are not as the specifications have them, and that servers send all the same. Each grant takes them.

type Grant = "client_credentials" | "refresh_token" | "authorization_code" | "device_code";
const grants: readonly Grant[] = ["client_credentials", "refresh_token", "authorization_code", "device_code"];

const code = { device_code: "d", user_code: "U", verification_uri: "https://login.example/", expires_in: 600 };

/**
 * Requests a token by a grant. The token endpoint gives the answers in turn, and the last one again. Returns what the
 * agent is called with, and the form of the last token request.
 */
async function request(grant: Grant, answers: readonly Answer[], start: Answer = { json: code }, secret = {}) {
  // A refresh token has to come from somewhere.
  const isRefresh = grant === "refresh_token";
  let answered = isRefresh ? -1 : 0;
  await using server = await authorizationServer(({ path }) => {
    if (path === "/device") return start;
    answered += 1;
    if (answered === 0) return tokenAnswer("first", { refresh_token: "r" });
    return answers[Math.min(answered, answers.length) - 1] ?? errorAnswer("invalid_request");
  });
  const endpoint = { tokenUrl: `${server.url}/token`, scopes: {} };
  const schemes = {
    client_credentials: clientCredentials(endpoint.tokenUrl),
    refresh_token: clientCredentials(endpoint.tokenUrl),
    authorization_code: oauth2({ authorizationCode: { ...endpoint, authorizationUrl: `${server.url}/auth` } }),
    device_code: oauth2({ deviceCode: { ...endpoint, deviceAuthorizationUrl: `${server.url}/device` } }),
  };
  const flows: Partial<Record<Grant, Partial<OAuthSecret>>> = {
    authorization_code: {
      authorizationCode: async ({ urlFor }) => {
        const state = new URL(urlFor("http://127.0.0.1/callback")).searchParams.get("state");
        return `http://127.0.0.1/callback?${new URLSearchParams({ code: "c", state: state ?? "" })}`;
      },
    },
    device_code: { deviceCode: () => {} },
  };
  const clock = createVirtualClock();
  const login: OAuthSecret = { clientId: "berth", ...flows[grant], ...secret };
  const card = cardWith({ login: schemes[grant] }, { login: [] });
  const source = credentialSource(card, { login }, { fetch, cardUrl: server.url, clock });
  const first = isRefresh ? await source.get(undefined) : undefined;
  const waiting = first === undefined ? source.get(undefined) : source.renew(first, refusal(), undefined);
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  waiting.then(over, over);
  // Polls of a device. A request's time limit is another timer, of 10 s.
  for (; !isOver; await setImmediate()) if (clock.pending().includes(clock.now() + 5000)) await clock.advance(5000);
  return { credential: await waiting, form: server.requests.at(-1)?.form };
}

/** An ID token that is signed in a way, and by an issuer, that the card does not say. */
function idToken(alg: string): string {
  const claims = { iss: "https://accounts.example", aud: "berth", sub: "ada", iat: 0, exp: 4e9 };
  const [header, body] = [{ alg }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return `${header}.${body}.c2lnbmF0dXJl`;
}

describe.each(grants)("a token of the grant %s", (grant) => {
  it.each<[string, Answer]>([
    ["without token_type", tokenAnswer("t", { token_type: undefined })],
    ["with a token_type in capitals", tokenAnswer("t", { token_type: "BEARER" })],
    ["with expires_in as text", tokenAnswer("t", { expires_in: "3600" })],
    ["without expires_in", tokenAnswer("t", { expires_in: undefined })],
    ["with a list of scopes", tokenAnswer("t", { scope: ["read", "write"] })],
    ["with an empty refresh token", tokenAnswer("t", { refresh_token: "" })],
    ["with members of its own", tokenAnswer("t", { resource: ["urn:port"], ext_expires_in: 7 })],
    ["with an ID token by ES256", tokenAnswer("t", { id_token: idToken("ES256") })],
    ["with an ID token by RS256", tokenAnswer("t", { id_token: idToken("RS256") })],
    [
      "with members that are null",
      tokenAnswer("t", {
        ...{ token_type: null, expires_in: null, scope: null, refresh_token: null, id_token: null, error: null },
      }),
    ],
    [
      "in JSON of a type of its own",
      (response) =>
        response
          .writeHead(200, { "content-type": "application/vnd.login+json; charset=utf-8" })
          .end(JSON.stringify({ access_token: "t", token_type: "bearer" })),
    ],
  ])("a token %s is taken", async (_, answer) => {
    const { credential, form } = await request(grant, [answer]);
    expect(credential).toEqual(bearer("t"));
    expect(form?.["grant_type"]?.split(":").at(-1)).toBe(grant);
  });

  it.each<[string, number]>([
    ["success", 200],
    ["a failure of the server", 500],
  ])("a token is refused by its error where the status says %s", async (_, status) => {
    const refused = errorOf(request(grant, [{ status, json: { error: "unauthorized_client", access_token: "t" } }]));
    expect(await refused).toMatchObject({
      code: "unauthenticated",
      metadata: { oauthError: "unauthorized_client" },
    });
  });
});

describe("a device", () => {
  it("a device waits for the user where the server says so with status 200, as GitHub does", async () => {
    const wait: Answer = { status: 200, json: { error: "authorization_pending", error_description: "…" } };
    expect((await request("device_code", [wait, wait, tokenAnswer("t")])).credential).toEqual(bearer("t"));
  });

  it.each<[string, object]>([
    ["numbers as text", { expires_in: "600", interval: "5" }],
    ["optional members that are null", { interval: null, verification_uri_complete: null }],
  ])("a device takes a code with %s", async (_, more) => {
    const start = { json: { ...code, ...more } };
    expect((await request("device_code", [tokenAnswer("t")], start)).credential).toEqual(bearer("t"));
  });

  it("a device with a secret sends its id in the form too", async () => {
    const { form } = await request("device_code", [tokenAnswer("t")], undefined, { clientSecret: "s" });
    expect(form?.["client_id"]).toBe("berth");
  });
});

it("a secret in Basic authentication keeps the characters that need no escape", async () => {
  await using server = await authorizationServer(() => tokenAnswer("t"));
  await clientSource(server.url, { clientId: "3f2a-b_c.d", clientSecret: "x-_.*~ +/:%é" }).get(undefined);
  const [, shown = ""] = server.requests[0]?.headers.authorization?.split(" ") ?? [];
  // Servers that do not decode the two halves compare these as they are.
  expect(atob(shown)).toBe("3f2a-b_c.d:x-_.*%7E+%2B%2F%3A%25%C3%A9");
});

it.each(["login_required", "consent_required", "interaction_required"])(
  "a refresh that the server answers with %s restarts the flow",
  async (error) => {
    await using server = await authorizationServer(({ form }, place) =>
      form["grant_type"] === "refresh_token" ? errorAnswer(error) : tokenAnswer(`t${place}`, { refresh_token: "r" }),
    );
    const source = clientSource(server.url);
    const refused = await source.get(undefined);
    expect(await source.renew(refused, refusal(), undefined)).toEqual(bearer("t3"));
  },
);
