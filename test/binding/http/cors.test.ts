import { describe, expect, it } from "vitest";
import { type CorsOptions, cors } from "../../../src/binding/http/cors.js";
import { fetchHandler } from "../../../src/binding/http/fetch-handler.js";
import type { HttpEndpoint } from "../../../src/binding/http/http.js";

const page = "https://page.example";
const inner: HttpEndpoint = ({ path }) =>
  path === "/none" ? undefined : { status: 200, headers: { Vary: "Accept" }, body: "x" };

function ask(options: CorsOptions, init: RequestInit & { readonly path?: string } = {}): Promise<Response> {
  return fetchHandler(cors(inner, options))(new Request(`https://agent.example${init.path ?? "/"}`, init));
}

const preflight = (origin: string): RequestInit => ({
  method: "OPTIONS",
  headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
});

describe("a preflight request", () => {
  it.each([
    { origins: [page], origin: page, allowed: page },
    { origins: [`${page}/`], origin: page, allowed: page },
    { origins: "*" as const, origin: page, allowed: "*" },
    { origins: [page], origin: "https://evil.example", allowed: null },
    { origins: [page], origin: `${page}:8443`, allowed: null },
    { origins: [page], origin: "null", allowed: null },
    { origins: ["https://*.example"], origin: "https://page.example", allowed: "https://page.example" },
    { origins: ["https://*.example"], origin: "https://a.page.example", allowed: "https://a.page.example" },
    { origins: ["https://*.example:8443"], origin: "https://a.example:8443", allowed: "https://a.example:8443" },
    { origins: ["https://*.example"], origin: "https://example", allowed: null },
    { origins: ["https://*.example"], origin: "https://page.example:8443", allowed: null },
    { origins: ["https://*.example"], origin: "http://page.example", allowed: null },
    { origins: ["https://*.example"], origin: "https://page.example.evil", allowed: null },
    { origins: ["https://*.example"], origin: "https://evilexample", allowed: null },
    { origins: ["https://*.example"], origin: "https://evil.test/.example", allowed: null },
    { origins: ["https://*.example"], origin: "https://evil.test:1.example", allowed: null },
    { origins: ["https://*.example"], origin: "https://.example", allowed: null },
  ])("a preflight request from $origin, with $origins, is granted $allowed", async ({ origins, origin, allowed }) => {
    const { status, headers } = await ask({ origins, allowHeaders: ["X-Own-Key"] }, preflight(origin));
    expect([status, headers.get("access-control-allow-origin")]).toEqual([204, allowed]);
    expect(headers.get("vary")).toBe(origins === "*" ? null : "Origin");
    const granted = headers.get("access-control-allow-headers") ?? "";
    for (const name of ["A2A-Version", "A2A-Extensions", "Last-Event-ID", "Authorization", "X-API-Key", "X-Own-Key"]) {
      expect(granted.includes(name)).toBe(allowed !== null);
    }
    expect(headers.get("access-control-max-age")).toBe(allowed === null ? null : "3600");
  });

  it("a preflight request without a method is an ordinary OPTIONS", async () => {
    expect((await ask({ origins: "*" }, { method: "OPTIONS", headers: { Origin: page } })).status).toBe(200);
  });
});

describe("an answer", () => {
  it("an answer to an allowed page may be read, with the headers that matter", async () => {
    const { headers } = await ask({ origins: [page], credentials: true }, { headers: { Origin: page } });
    expect(headers.get("access-control-allow-origin")).toBe(page);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("vary")).toBe("Accept, Origin");
    for (const name of ["A2A-Extensions", "WWW-Authenticate", "ETag", "Retry-After", "Content-Encoding"]) {
      expect(headers.get("access-control-expose-headers")).toContain(name);
    }
  });

  it.each([{ headers: { Origin: "https://evil.example" } }, { headers: {} }])(
    "an answer to $headers grants nothing",
    async (init) => {
      const { status, headers } = await ask({ origins: [page] }, init);
      expect(status).toBe(200);
      expect(headers.get("access-control-allow-origin")).toBe(null);
      expect(headers.get("vary")).toBe("Accept, Origin");
    },
  );

  it("an answer for an unknown path stays 404 for a page", async () => {
    for (const headers of [{ Origin: page }, { Origin: "https://evil.example" }, {}]) {
      expect((await ask({ origins: [page] }, { path: "/none", headers })).status).toBe(404);
    }
  });
});

it.each([
  { origins: "*" as const, credentials: true },
  { origins: ["page.example"] },
  { origins: [`${page}/path`] },
  { origins: ["null"] },
  { origins: ["https://*"] },
  { origins: ["https://a.*.example"] },
  { origins: ["https://*.*.example"] },
  { origins: ["https://*page.example"] },
  { origins: ["*.example"] },
  { origins: ["https://*.example/path"] },
])("options that no browser honours are refused: %j", (options) => {
  expect(() => cors(inner, options)).toThrow(TypeError);
});
