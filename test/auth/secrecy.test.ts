import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { credentialSource } from "../../src/auth/credential-source.js";
import type { CredentialSource } from "../../src/auth/credentials.js";
import { type Answer, authorizationServer, errorAnswer, tokenAnswer } from "./authorization-server.js";
import { apiKey, cardWith, clientSource, errorOf, http, offline, refusal } from "./sources.js";

const shown = (value: unknown): string =>
  inspect(value, { depth: 20, showHidden: true, getters: true }) + (JSON.stringify(value) ?? "") + String(value);

describe("a source that is printed", () => {
  it.each([
    ["a key", credentialSource(cardWith({ s: apiKey("query", "k") }), { s: "hush-1" }, offline)],
    [
      "a password",
      credentialSource(cardWith({ s: http("Basic") }), { s: { username: "u", password: "hush-1" } }, offline),
    ],
    ["a provider", credentialSource(cardWith({}), () => ({ headers: { a: "hush-1" } }), offline)],
  ])("a source of credentials that is printed does not show %s", async (_, source: CredentialSource) => {
    expect(shown(await source.get(undefined))).toMatch(/hush-1|aHVzaC0x|dTpodXNoLTE=/);
    expect(shown(source)).not.toMatch(/hush|aHVz|dTpod/);
  });

  it("a source of credentials that is printed does not show a client's secret nor its tokens", async () => {
    await using server = await authorizationServer(() => tokenAnswer("hush-2", { refresh_token: "hush-3" }));
    const source = clientSource(server.url, { clientSecret: "hush-1" });
    expect(shown(await source.get(undefined))).toContain("hush-2");
    expect(shown(source)).not.toContain("hush");
  });
});

describe("an error", () => {
  it.each<[string, Answer]>([
    [
      "an OAuth error with a description",
      { status: 401, json: { error: "invalid_client", error_description: "s3cret-of-berth" } },
    ],
    ["the secret as the error", errorAnswer("s3cret-of-berth")],
    ["the secret as the type", tokenAnswer("tok-1", { token_type: "s3cret-of-berth" })],
    ["the secret as the expiry", tokenAnswer("tok-1", { expires_in: "s3cret-of-berth" })],
    ["a token that no header can carry", tokenAnswer("tok-1\ns3cret-of-berth")],
    [
      "the secret as a page",
      (response) => response.writeHead(500, { "content-type": "text/html" }).end("s3cret-of-berth"),
    ],
    [
      "the secret as broken JSON",
      (response) => response.writeHead(200, { "content-type": "application/json" }).end("s3cret-of-berth tok-1"),
    ],
  ])("an error of credentials reveals nothing of the request or the answer: %s", async (_, answer) => {
    await using server = await authorizationServer(() => answer);
    const error = await errorOf(clientSource(server.url).get(undefined));
    expect(error.message).toContain(server.url);
    expect(shown(error)).not.toMatch(/s3cret|tok-1|czNjcmV0/);
  });

  it.each([
    ["a string with a line break", http("Bearer"), "hush\nx"],
    ["a token with its scheme", http("Bearer"), "Bearer hush"],
    ["a cookie with a semicolon", apiKey("cookie", "c"), "hush; x"],
  ])("an error of a secret that cannot be sent names the option: %s", async (_, scheme, secret) => {
    const make = () => credentialSource(cardWith({ s: scheme }), { s: secret }, offline);
    expect(make).toThrow('credentials["s"] holds');
    expect(make).not.toThrow("hush");
    const late = credentialSource(cardWith({ s: scheme }), { s: () => secret }, offline).get(undefined);
    await expect(late).rejects.toThrow('credentials["s"] holds');
  });

  it("an error of a provider's header names the header", async () => {
    const source = credentialSource(cardWith({}), () => ({ headers: { "x-key": "hush\r\n" } }), offline);
    const error: unknown = await source.get(undefined).catch((thrown: unknown) => thrown);
    expect(shown(error)).toContain("the header x-key");
    expect(shown(error)).not.toContain("hush");
  });

  it("an error of a refusal that nothing meets shows no secret of others", async () => {
    const source = credentialSource(cardWith({ s: http("Basic") }, { s: [] }), { s: "hush", other: "hush" }, offline);
    expect(shown(await errorOf(source.renew(undefined, refusal(), undefined)))).not.toContain("hush");
  });
});
