import { describe, expect, it } from "vitest";
import { httpJsonEndpoint } from "../../../src/binding/http-json/server.js";
import { A2AError, errorCodes, errorTable } from "../../../src/protocol/errors.js";
import { serviceOf } from "../../support/echo-service.js";
import { recordingAgent as agent, ask, json } from "../../support/recording-agent.js";

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };

describe("media types", () => {
  // Requirements: V1-HTTP-1
  it.each([
    { accept: undefined, type: "application/json", reply: "application/json" },
    { accept: undefined, type: "application/a2a+json", reply: "application/a2a+json", error: "application/json" },
    { accept: "*/*", type: "application/json", reply: "application/json" },
    { accept: "*/*", type: "application/a2a+json", reply: "application/a2a+json", error: "application/json" },
    { accept: "application/json", type: "application/a2a+json", reply: "application/json" },
    { accept: "application/a2a+json", type: "application/json", reply: "application/a2a+json" },
    { accept: "text/event-stream, application/a2a+json", type: "application/json", reply: "application/a2a+json" },
    { accept: "application/json;q=0, application/a2a+json", type: "application/json", reply: "application/a2a+json" },
    { accept: "text/html", type: "application/a2a+json", reply: "application/a2a+json", error: "application/json" },
  ])(
    "the server answers Accept $accept and Content-Type $type with $reply, and errors in plain JSON by default",
    async ({ accept, type, reply, error = reply }) => {
      await using served = await agent();
      const headers = { "Content-Type": type, ...(accept === undefined ? {} : { Accept: accept }) };
      const good = await ask(served.base, "POST /message:send", { message }, headers);
      const bad = await ask(served.base, "POST /message:send", {}, headers);
      expect([good.status, good.headers["content-type"]]).toEqual([200, reply]);
      expect([bad.status, bad.headers["content-type"]]).toEqual([400, error]);
    },
  );

  it("the HTTP+JSON server answers a GET that names nothing in A2A's own type", async () => {
    await using served = await agent();
    expect((await ask(served.base, "GET /tasks", undefined, {})).headers["content-type"]).toBe("application/a2a+json");
  });

  it("the HTTP+JSON server takes a GET with a body of null, which one client sends", async () => {
    await using served = await agent();
    const headers = { ...json, "Content-Length": "4" };
    const { status, headers: got } = await ask(served.base, "GET /tasks/t-1", "null", headers);
    expect([status, got["content-type"]]).toEqual([200, "application/json"]);
  });

  it.each([
    { call: "POST /message:send", body: "{}", headers: { "Content-Type": "text/plain" } },
    { call: "POST /message:send", body: "{}", headers: {} },
    { call: "POST /tasks/t-1:cancel", body: "x=1", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
    { call: "POST /tasks/t-1:subscribe", body: "", headers: { "Content-Type": "text/plain" } },
    { call: "POST /tasks/t-1:cancel", body: undefined, headers: { Origin: "https://evil.example" } },
  ])("the HTTP+JSON server never executes $call with $headers", async ({ call, body, headers }) => {
    await using served = await agent();
    const { status } = await ask(served.base, call, body, { ...headers });
    expect(status).toBe(415);
    expect(served.called).toEqual([]);
  });
});

describe("errors", () => {
  // Requirements: V1-ERR-18
  it.each(errorCodes)("the HTTP+JSON server reports %s with its HTTP status and its reason", async (code) => {
    await using served = await agent({
      authenticate: () => {
        throw new A2AError(code, "no", { retryAfterMs: 1000 });
      },
    });
    const { status, headers, text } = await ask(served.base, "GET /tasks");
    const { http, reason } = errorTable[code];
    expect({ status, retry: headers["retry-after"] }).toEqual({ status: http, retry: "1" });
    expect(JSON.parse(text)).toMatchObject({
      error: { code: http, details: expect.arrayContaining([expect.objectContaining({ reason })]) },
    });
  });

  it.each([
    { call: "GET /tasks?A2A-Version=2.0", headers: {}, reason: "VERSION_NOT_SUPPORTED" },
    { call: "GET /tasks", headers: { "A2A-Version": "0.3" }, reason: "VERSION_NOT_SUPPORTED" },
  ])("the HTTP+JSON server refuses $call $headers with $reason", async ({ call, headers, reason }) => {
    await using served = await agent();
    const { status, text } = await ask(served.base, call, undefined, { ...headers });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { details: [{ reason }] } });
  });

  // Requirements: V1-ERR-3
  it("the HTTP+JSON server challenges an unknown caller also when the application names no challenge", async () => {
    await using served = await agent({
      authenticate: () => {
        throw new A2AError("unauthenticated", "who are you");
      },
    });
    expect((await ask(served.base, "GET /tasks")).headers["www-authenticate"]).toBe("Bearer");
  });

  it("an HTTP+JSON server without a version to speak is refused", () => {
    expect(() => httpJsonEndpoint({ adapters: [], service: serviceOf({}) })).toThrow(TypeError);
  });
});

it("the HTTP+JSON server names the extensions that it activated", async () => {
  await using served = await agent();
  const { headers } = await ask(
    served.base,
    "POST /message:send",
    { message },
    { ...json, "A2A-Extensions": "urn:known:a,x" },
  );
  expect(headers["a2a-extensions"]).toBe("urn:known:a");
});
