import { gzipSync } from "node:zlib";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { brokenBodies } from "../../support/broken-bodies.js";
import { connectBody, connectTarget, httpEnds } from "../../support/http-ends.js";
import { type HttpAnswer, type HttpAsk, type HttpLine, httpLine, json } from "../../support/raw-http.js";
import { expectNoTrace } from "../../support/raw-wire.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Bodies that are empty, too large, or of another protocol. None of them is executed.

const maxBytes = 16 * 1024;
let served: ServedAgent;
let line: HttpLine;
let turns = 0;

beforeAll(async () => {
  served = await startAgent("JSONRPC", {
    versions: ["1.0"],
    limits: { contentMaxBytes: maxBytes, jsonBodyMaxBytes: maxBytes },
    agent: async () => {
      turns++;
      return reply("done");
    },
  });
  line = httpLine(served.server.port);
});

afterAll(async () => {
  line[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

beforeEach(() => {
  turns = 0;
});

const notJson: readonly (readonly [type: string, headers: Record<string, string>])[] = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "text/html",
  "text/json",
  "application/xml",
  "application/jsonp",
  "application/json, text/plain",
  "application/vnd.api+json",
  "json",
  "*/*",
  ";",
].map((type) => [type, { "Content-Type": type }]);

describe.each(httpEnds)("$name", ({ target, body, errorOf, wrongType }) => {
  const ask = (changes: Partial<HttpAsk>): Promise<HttpAnswer> => line.ask({ target, headers: json, body, ...changes });
  const expectServes = async (): Promise<void> => {
    turns = 0;
    expect(errorOf(await ask({}))).toBeUndefined();
    expect(turns).toBe(1);
  };

  // Requirements: V1-ERR-7
  it.each(brokenBodies)("a JSON endpoint refuses a body of %s", async (_, spoil) => {
    const error = errorOf(await ask({ body: spoil(body) }));
    expect(["parseError", "invalidRequest", "invalidParams"]).toContain(error?.code);
    expect(turns).toBe(0);
    await expectServes();
  });

  // Requirements: V03-RPC-2
  it.each([
    ...notJson,
    ["none", {}],
    ["JSON in an unknown encoding", { ...json, "Content-Encoding": "br, zstd" }],
  ] as const)("a JSON endpoint does not execute a body of type %s from any origin", async (_, headers) => {
    for (const origin of [undefined, "https://evil.example", "null"]) {
      const answer = await ask({ headers: { ...headers, ...(origin && { Origin: origin }) } });
      // Requests from foreign pages are refused before their bodies are read.
      expect(errorOf(answer)?.code).toBe(origin === undefined ? wrongType : "permissionDenied");
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect(turns).toBe(0);
    await expectServes();
  });

  it("a JSON endpoint does not execute a body that says it is gzip and is not", async () => {
    expect(errorOf(await ask({ headers: { ...json, "Content-Encoding": "gzip" } }))?.code).toBe("parseError");
    expect(turns).toBe(0);
    await expectServes();
  });

  it("a JSON endpoint executes a body in gzip", async () => {
    const zipped = gzipSync(body);
    const answer = await ask({ headers: { ...json, "Content-Encoding": "gzip" }, body: zipped });
    expect(errorOf(answer)).toBeUndefined();
    expect(turns).toBe(1);
  });

  it("a JSON endpoint refuses a gzip body that is too large once decompressed, and names the limit", async () => {
    const bomb = gzipSync(body.replace("hello", "x".repeat(10_000_000)));
    expect(bomb.length).toBeLessThan(maxBytes);
    const error = errorOf(await ask({ headers: { ...json, "Content-Encoding": "gzip" }, body: bomb }));
    expect([error?.code, error?.message]).toEqual(["contentTooLarge", expect.stringContaining(String(maxBytes))]);
    expect(turns).toBe(0);
    await expectServes();
  });

  it("a JSON endpoint refuses a body in gzip that is cut off", async () => {
    const zipped = gzipSync(body).subarray(0, -9);
    const answer = await ask({ headers: { ...json, "Content-Encoding": "gzip" }, body: zipped });
    expect(errorOf(answer)?.code).toBe("parseError");
    expect(turns).toBe(0);
    await expectServes();
  });

  it.each(["application/json", "APPLICATION/JSON; Charset=UTF-8", "application/a2a+json", "application/json;"])(
    "a JSON endpoint executes a body of type %s",
    async (type) => {
      expect(errorOf(await ask({ headers: { "Content-Type": type } }))).toBeUndefined();
      expect(turns).toBe(1);
    },
  );

  it.each([
    ["of a known length", {}],
    ["in chunks", { "Transfer-Encoding": "chunked" }],
  ])("a JSON endpoint refuses a body over the limit %s, and names the limit", async (_, headers) => {
    const large = body.replace("hello", "x".repeat(maxBytes));
    const error = errorOf(await ask({ body: large, headers: { ...json, ...headers } }));
    expect([error?.code, error?.message]).toEqual(["contentTooLarge", expect.stringContaining(String(maxBytes))]);
    await expectServes();
  });

  it("a JSON endpoint takes a body of just the limit, and refuses one byte more", async () => {
    const padded = (length: number): string => body + " ".repeat(length - body.length);
    expect(errorOf(await ask({ body: padded(maxBytes) }))).toBeUndefined();
    expect(errorOf(await ask({ body: padded(maxBytes + 1) }))?.code).toBe("contentTooLarge");
  });

  it.each(["GET", "PUT", "PATCH", "DELETE", "PROPFIND"])(
    "a JSON endpoint refuses %s, and names what it accepts",
    async (method) => {
      const headers = { ...json, "Content-Length": String(body.length) };
      const answer = await ask({ method, headers });
      expect(errorOf(answer)?.code).toBe("methodNotAllowed");
      expect(answer.headers.allow).toContain("POST");
      expect(turns).toBe(0);
      await expectServes();
    },
  );
});

describe("Connect", () => {
  const ask = (changes: Partial<HttpAsk>): Promise<HttpAnswer> =>
    line.ask({ target: connectTarget, headers: json, body: connectBody, ...changes });

  // Requirements: V1-ERR-7
  it.each(brokenBodies)("the Connect endpoint refuses a body of %s", async (_, spoil) => {
    const answer = await ask({ body: spoil(connectBody) });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      400,
      expect.objectContaining({ code: "invalid_argument" }),
    ]);
    expectNoTrace(answer.text);
    expect(turns).toBe(0);
    expect((await ask({})).status).toBe(200);
  });

  it.each(notJson)("the Connect endpoint does not execute a body of type %s", async (_, headers) => {
    expect((await ask({ headers })).status).toBe(415);
    expect(turns).toBe(0);
  });

  it("the Connect endpoint refuses a body over the limit", async () => {
    const answer = await ask({ body: connectBody.replace("hello", "x".repeat(maxBytes)) });
    expect(JSON.parse(answer.text)).toMatchObject({ code: "resource_exhausted" });
    expect(answer.status).toBeLessThan(500);
  });
});

it("no bad request is logged as a fault", () => {
  expect(served.log.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
});
