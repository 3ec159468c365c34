import { expect, it } from "vitest";
import { credentialSource } from "../../../src/auth/credential-source.js";
import { type AuthorizationServer, authorizationServer, tokenAnswer } from "../authorization-server.js";
import { bearer, cardWith, errorOf, oauth2 } from "../sources.js";

/** A source whose user comes back with these parameters; `state` is that of the request. */
function source(server: AuthorizationServer, parameters: Readonly<Record<string, string>>) {
  const flow = { authorizationUrl: `${server.url}/auth`, tokenUrl: `${server.url}/token`, scopes: {} };
  const card = cardWith({ login: oauth2({ authorizationCode: flow }) }, { login: ["port"] });
  const pages: URL[] = [];
  const login = {
    clientId: "berth",
    authorizationCode: async ({ urlFor }: { readonly urlFor: (redirectUri: string) => string }) => {
      const page = new URL(urlFor("http://127.0.0.1:1/callback"));
      pages.push(page);
      return `http://127.0.0.1:1/callback?${new URLSearchParams({ state: page.searchParams.get("state") ?? "", ...parameters })}`;
    },
  };
  return { pages, source: credentialSource(card, { login }, { fetch, cardUrl: server.url }) };
}

it("the authorization code flow exchanges the code with the verifier of the challenge that the page got", async () => {
  await using server = await authorizationServer(() => tokenAnswer("t"));
  const { source: credentials, pages } = source(server, { code: "c/1+2" });
  expect(await credentials.get(undefined)).toEqual(bearer("t"));
  const { code_verifier: verifier = "", ...form } = server.requests[0]?.form ?? {};
  expect(form).toEqual({
    grant_type: "authorization_code",
    code: "c/1+2",
    redirect_uri: "http://127.0.0.1:1/callback",
    client_id: "berth",
  });
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  expect(pages[0]?.searchParams.get("code_challenge")).toBe(digest.toString("base64url"));
});

it.each<[string, Readonly<Record<string, string>>, string]>([
  ["no code", {}, "has no code"],
  ["an empty code", { code: "" }, "has no code"],
  ["another state", { code: "c", state: "x" }, "is for another request: its state or issuer differs"],
  ["another issuer", { code: "c", iss: "https://evil.example" }, "is for another request: its state or issuer differs"],
  ["an error", { error: "login_required", error_description: "hush" }, "refused: login_required"],
  ["a text for an error", { error: "your session hush has ended" }, "refused: an error that OAuth does not know"],
])("an answer with %s ends the sign-in, and nothing of the answer is shown", async (_, parameters, message) => {
  await using server = await authorizationServer(() => tokenAnswer("t"));
  const error = await errorOf(source(server, parameters).source.get(undefined));
  expect(error).toMatchObject({ code: "unauthenticated", message: expect.stringContaining(message) });
  expect(error.message).not.toContain("hush");
  expect(server.requests).toHaveLength(0);
});
