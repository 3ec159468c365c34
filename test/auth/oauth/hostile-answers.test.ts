import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { type Answer, authorizationServer, tokenAnswer } from "../authorization-server.js";
import { bearer, clientSource, errorOf, timerOf } from "../sources.js";

const json = { "content-type": "application/json" };

function endless(response: ServerResponse): void {
  response.writeHead(200, json);
  const write = (): void => {
    while (!response.destroyed && response.write(" ".repeat(16_384)));
  };
  response.on("drain", write);
  write();
}

it.each<[string, Answer, string]>([
  [
    "no JSON",
    (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    "HTTP status 200 and no JSON",
  ],
  [
    "JSON that is called something else",
    (response) => response.writeHead(200, { "content-type": "text/plain" }).end('{"access_token":"t"}'),
    "no JSON",
  ],
  ["broken JSON", (response) => response.writeHead(200, json).end("{"), "no JSON"],
  ["a list", { json: [] }, "no JSON"],
  ["nothing", (response) => response.writeHead(204).end(), "HTTP status 204"],
  ["no token", { json: { token_type: "Bearer" } }, "has no access_token"],
  ["a token that is no text", { json: { access_token: 7 } }, "has no access_token"],
  ["a token that no header can carry", tokenAnswer("a\r\nb"), "characters that a token cannot have"],
  ["a token of another kind", tokenAnswer("t", { token_type: "DPoP" }), "must be Bearer"],
  ["a negative expiry", tokenAnswer("t", { expires_in: -1 }), "must be a number of seconds more than 0"],
  ["an expiry of no time", tokenAnswer("t", { expires_in: 0 }), "must be a number of seconds more than 0"],
  ["an expiry that is no number", tokenAnswer("t", { expires_in: "soon" }), "must be a number of seconds more than 0"],
  ["an error of its own", { status: 400, json: { error: "xyz" } }, "status 400 and an error that OAuth does not know"],
  ["an error that says 200", { json: { error: "invalid_scope", access_token: "t" } }, "refused: invalid_scope"],
  [
    "a page that never ends",
    (response) => response.writeHead(200, { "content-type": "text/html" }).write("<p>"),
    "no JSON",
  ],
  ["an endless body", endless, "over the limit of 65536 bytes"],
])("a token endpoint that answers with %s is refused", async (_, answer, message) => {
  await using server = await authorizationServer(() => answer);
  const error = await errorOf(clientSource(server.url).get(undefined));
  expect(error.code).toBe("unauthenticated");
  expect(error.message).toContain(message);
  await server.requests[0]?.closed;
});

it("an answer of 65,536 bytes is read, one of a byte more is not", async () => {
  const sized = (bytes: number): Answer => {
    const body = JSON.stringify({ access_token: "t" });
    return (response) => response.writeHead(200, json).end(body + " ".repeat(bytes - body.length));
  };
  await using server = await authorizationServer((_, place) => sized(65_535 + place));
  expect(await clientSource(server.url).get(undefined)).toEqual(bearer("t"));
  expect((await errorOf(clientSource(server.url).get(undefined))).message).toContain("over the limit of 65536 bytes");
});

it("a redirect of a token endpoint is not followed", async () => {
  await using other = await authorizationServer(() => tokenAnswer("t"));
  await using server = await authorizationServer(
    () => (response) => response.writeHead(307, { location: other.url }).end(),
  );
  const error = await errorOf(clientSource(server.url).get(undefined));
  expect(error).toMatchObject({ code: "unavailable" });
  expect(error.message).toContain("redirects, which is not followed");
  expect(other.requests).toHaveLength(0);
});

it("an authorization server that is not well is unavailable", async () => {
  await using server = await authorizationServer(() => ({ status: 502, json: {} }));
  const error = await errorOf(clientSource(server.url).get(undefined));
  expect(error).toMatchObject({ code: "unavailable" });
  expect(error.message).toContain("HTTP status 502");
});

it("an authorization server that is not there is unavailable", async () => {
  const server = await authorizationServer(() => tokenAnswer("t"));
  await server[Symbol.asyncDispose]();
  const error = await errorOf(clientSource(server.url).get(undefined));
  expect(error).toMatchObject({ code: "unavailable" });
  expect(error.message).toContain("cannot be reached");
});

it.each<[string, Answer]>([
  ["never answers", () => {}],
  ["never ends its answer", (response) => response.writeHead(200, json).write("{")],
])("an authorization server that %s is given up after ten seconds", async (_, answer) => {
  await using server = await authorizationServer(() => answer);
  const clock = createVirtualClock();
  const refused = errorOf(clientSource(server.url, {}, { clock }).get(undefined));
  await timerOf(clock, 10_000);
  await server.received(1);
  await clock.advance(10_000);
  const error = await refused;
  expect(error).toMatchObject({ code: "unavailable" });
  expect(error.message).toContain("did not answer within 10000 ms");
  await server.requests[0]?.closed;
  expect(clock.pending()).toEqual([]);
});
