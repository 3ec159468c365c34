import { expect, it } from "vitest";
import type { DeviceCodePrompt, OAuthSecret } from "../../../src/auth/credential-options.js";
import { credentialSource } from "../../../src/auth/credential-source.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import {
  type Answer,
  type AuthorizationServer,
  authorizationServer,
  errorAnswer,
  tokenAnswer,
} from "../authorization-server.js";
import { bearer, cardWith, errorOf, oauth2, refusal, timerOf } from "../sources.js";

const code = {
  device_code: "dev-1",
  user_code: "BERTH-7",
  verification_uri: "https://login.example/device",
  verification_uri_complete: "https://login.example/device?code=BERTH-7",
  expires_in: 600,
};

const pending = errorAnswer("authorization_pending");

/** A server that issues a device code and answers each poll with the next of `polls`, repeating the last. */
function deviceServer(polls: readonly Answer[], start: Answer = { json: code }): Promise<AuthorizationServer> {
  let polled = 0;
  return authorizationServer(({ path }) => {
    if (path === "/device") return start;
    polled += 1;
    return polls[Math.min(polled, polls.length) - 1] ?? errorAnswer("invalid_request");
  });
}

function device(server: AuthorizationServer, secret: Partial<OAuthSecret> = {}) {
  const prompts: DeviceCodePrompt[] = [];
  const clock = createVirtualClock();
  const flow = { deviceAuthorizationUrl: `${server.url}/device`, tokenUrl: `${server.url}/token`, scopes: {} };
  const card = cardWith({ login: oauth2({ deviceCode: flow }) }, { login: ["port"] });
  const login = { clientId: "berth", deviceCode: (prompt: DeviceCodePrompt) => void prompts.push(prompt), ...secret };
  // Longer than any polling interval, so that a pause's timer differs from a request's.
  const source = credentialSource(card, { login }, { fetch, cardUrl: server.url, clock, timeoutMs: 400_000 });
  const pass = async (ms: number): Promise<void> => {
    await timerOf(clock, ms);
    await clock.advance(ms);
  };
  return { source, prompts, clock, pass };
}

it("the device code flow shows the user where to agree, and asks until they have", async () => {
  await using server = await deviceServer([pending, pending, tokenAnswer("t")]);
  const { source, prompts, pass } = device(server);
  const waiting = source.get(undefined);
  for (let poll = 0; poll < 3; poll += 1) await pass(5000);
  expect(await waiting).toEqual(bearer("t"));
  expect(prompts).toEqual([
    {
      verificationUri: "https://login.example/device",
      verificationUriComplete: "https://login.example/device?code=BERTH-7",
      userCode: "BERTH-7",
      expiresInMs: 600_000,
    },
  ]);
  const [start, ...polls] = server.requests.map(({ path, form }) => [path, form]);
  expect(start).toEqual(["/device", { client_id: "berth", scope: "port" }]);
  const grant = {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: "dev-1",
    client_id: "berth",
  };
  expect(polls).toEqual([1, 2, 3].map(() => ["/token", grant]));
});

it("the device code flow polls at the server's interval, and slower when told to or after a failed poll", async () => {
  const unwell: Answer = { status: 503, json: {} };
  await using server = await deviceServer([errorAnswer("slow_down"), pending, unwell, tokenAnswer("t")], {
    json: { ...code, interval: 2 },
  });
  const { source, pass } = device(server);
  const waiting = source.get(undefined);
  for (const ms of [2000, 7000, 7000, 12_000]) await pass(ms);
  expect(await waiting).toEqual(bearer("t"));
});

it("the device code flow cancels the body of an answer that it does not read", async () => {
  const page: Answer = (response) => response.writeHead(503, { "content-type": "text/html" }).write("<p>");
  await using server = await deviceServer([page, tokenAnswer("t")]);
  const { source, pass } = device(server);
  const waiting = source.get(undefined);
  await pass(5000);
  await server.received(2);
  await server.requests[1]?.closed;
  await pass(10_000);
  expect(await waiting).toEqual(bearer("t"));
});

it.each([
  [0.001, 1000],
  [1e9, 300_000],
])("the device code flow keeps an interval of %s seconds within bounds", async (interval, ms) => {
  await using server = await deviceServer([tokenAnswer("t")], { json: { ...code, interval } });
  const { source, pass } = device(server);
  const waiting = source.get(undefined);
  await pass(ms);
  expect(await waiting).toEqual(bearer("t"));
});

it.each(["access_denied", "expired_token", "invalid_grant"])(
  "the device code flow ends when the server answers %s",
  async (error) => {
    await using server = await deviceServer([pending, errorAnswer(error)]);
    const { source, prompts, pass } = device(server);
    const refused = errorOf(source.get(undefined));
    await pass(5000);
    await pass(5000);
    expect(await refused).toMatchObject({ code: "unauthenticated", metadata: { oauthError: error } });
    const again = errorOf(source.get(undefined));
    await pass(5000);
    await again;
    expect(prompts).toHaveLength(2);
  },
);

it("the device code flow ends when the code has expired, whatever the server answers", async () => {
  await using server = await deviceServer([pending], { json: { ...code, expires_in: 12 } });
  const { source, pass } = device(server);
  const refused = errorOf(source.get(undefined));
  for (let poll = 0; poll < 3; poll += 1) await pass(5000);
  expect((await refused).message).toContain("expired_token");
  expect(server.requests).toHaveLength(3);
});

it("the device code flow asks the user once for all calls that wait", async () => {
  await using server = await deviceServer([tokenAnswer("t")]);
  const { source, prompts, pass } = device(server);
  const waiting = Promise.all([source.get(undefined), source.get(undefined)]);
  await pass(5000);
  expect(await waiting).toEqual([bearer("t"), bearer("t")]);
  expect(prompts).toHaveLength(1);
});

it("the device code flow keeps the code that the user has seen when a call follows an aborted one", async () => {
  await using server = await deviceServer([pending, tokenAnswer("t")]);
  const { source, prompts, clock, pass } = device(server);
  const leaving = new AbortController();
  const left = source.get(leaving.signal);
  await pass(5000);
  await timerOf(clock, 5000);
  leaving.abort(new Error("enough"));
  await expect(left).rejects.toThrow("enough");
  expect(clock.pending()).toEqual([]);
  const waiting = source.get(undefined);
  await pass(5000);
  expect(await waiting).toEqual(bearer("t"));
  expect(prompts).toHaveLength(1);
});

it("the device code flow refreshes without asking the user again", async () => {
  await using server = await deviceServer([tokenAnswer("t1", { refresh_token: "r" }), tokenAnswer("t2")]);
  const { source, prompts, pass } = device(server);
  const waiting = source.get(undefined);
  await pass(5000);
  const refused = await waiting;
  expect(await source.renew(refused, refusal(), undefined)).toEqual(bearer("t2"));
  expect(server.requests.at(-1)?.form).toEqual({ grant_type: "refresh_token", refresh_token: "r", client_id: "berth" });
  expect(prompts).toHaveLength(1);
});

it("the device code flow asks the user again when a token is refused and nothing refreshes it", async () => {
  await using server = await deviceServer([tokenAnswer("t1"), tokenAnswer("t2")]);
  const { source, prompts, pass } = device(server);
  const waiting = source.get(undefined);
  await pass(5000);
  const renewed = source.renew(await waiting, refusal(), undefined);
  await pass(5000);
  expect(await renewed).toEqual(bearer("t2"));
  expect(prompts).toHaveLength(2);
});

it("the device code flow fails when the prompt does", async () => {
  await using server = await deviceServer([tokenAnswer("t")]);
  const { source, clock } = device(server, {
    deviceCode: () => {
      throw new Error("no screen");
    },
  });
  await expect(source.get(undefined)).rejects.toThrow("no screen");
  expect(clock.pending()).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

it.each<[string, Readonly<Record<string, unknown>>, string]>([
  ["no code for the device", { device_code: undefined }, "has no device_code"],
  ["no code for the user", { user_code: "" }, "has no user_code"],
  ["a code that writes to the terminal", { user_code: "\u001b[2J" }, "64 visible characters"],
  ["a long code", { user_code: "x".repeat(65) }, "64 visible characters"],
  ["no page", { verification_uri: undefined }, "has no verification_uri"],
  ["a script for a page", { verification_uri: "javascript:alert(1)" }, "verification_uri of"],
  ["a page over plaintext", { verification_uri_complete: "http://login.example/" }, "verification_uri_complete of"],
  ["no expiry", { expires_in: undefined }, "has no expires_in"],
  ["a negative expiry", { expires_in: -5 }, "expires_in of"],
  ["a negative interval", { interval: -5 }, "interval of"],
])("the device code flow refuses a server that gives %s, before the user sees it", async (_, more, message) => {
  await using server = await deviceServer([tokenAnswer("t")], { json: { ...code, ...more } });
  const { source, prompts } = device(server);
  const error = await errorOf(source.get(undefined));
  expect(error).toMatchObject({ code: "unauthenticated" });
  expect(error.message).toContain(message);
  expect(prompts).toEqual([]);
});
