import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { buildCard } from "../../src/card/build.js";
import { cardEndpoint } from "../../src/card/endpoint.js";
import { createLocations, type Location, type UrlOptions } from "../../src/card/urls.js";
import type { Version } from "../../src/version/codec.js";
import * as flat from "../../src/version/v0.3/card.js";
import { writeCard } from "../../src/version/v1.0/card.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { listen } from "./ask.js";

const newest = v1;
const older: Version = { ...v1, name: "0.3", ...flat };

function cardAt({ base }: Location, versions: readonly Version[]) {
  return buildCard({
    options: { name: "Port Planner", description: "Plans berths", version: "3.1.0" },
    addresses: versions.map(({ name }) => ({ binding: "JSONRPC", url: `${base}/json-rpc`, version: name })),
    capabilities: { streaming: true, pushNotifications: false, authentication: false },
  });
}

interface Served {
  readonly urls?: UrlOptions;
  readonly versions?: readonly [Version, ...Version[]];
  readonly mounted?: readonly Version[];
  readonly audience?: string;
}

function serve({ urls = {}, versions = [newest], mounted = versions, audience }: Served = {}) {
  const places: string[] = [];
  const endpoint = cardEndpoint({
    cardAt: (location) => {
      places.push(location.base);
      return cardAt(location, mounted);
    },
    audience,
    locations: createLocations(urls, () => ({ origin: "http://127.0.0.1:1" })),
    versions,
    cacheMaxAgeSeconds: 300,
    lastModified: new Date("2026-03-04T05:06:07.890Z"),
  });
  return { places, endpoint };
}

const urlIn = (body: string): unknown =>
  (JSON.parse(body) as { supportedInterfaces: JsonObject[] }).supportedInterfaces[0]?.["url"];

// Requirements: V1-CARD-6, V03-CARD-1, V03-DISC-1
it.each(["/.well-known/agent-card.json", "/.well-known/agent.json"])(
  "the card endpoint serves the card at %s",
  async (path) => {
    await using server = await listen(serve().endpoint);
    const { status, headers, body } = await server.ask({ path });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "public, max-age=300, no-transform",
      "last-modified": "Wed, 04 Mar 2026 05:06:07 GMT",
      etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`,
    });
    expect(headers.vary).toBeUndefined();
    const base = `http://127.0.0.1:${server.port}`;
    expect(JSON.parse(body)).toEqual(writeCard(cardAt({ base, grpc: "" }, [newest])));
  },
);

it("the card endpoint answers HEAD with the headers of GET and nothing else", async () => {
  await using server = await listen(serve().endpoint);
  const { date: _, ...get } = (await server.ask()).headers;
  const { status, headers, body } = await server.ask({ method: "HEAD" });
  expect(status).toBe(200);
  expect(headers).toMatchObject(get);
  expect(body).toBe("");
});

it.each(["GET", "HEAD"])("the card endpoint answers %s with 304 if the caller has the current card", async (method) => {
  await using server = await listen(serve().endpoint);
  const { headers } = await server.ask();
  const { etag = "" } = headers;
  const again = await server.ask({ method, headers: { "If-None-Match": `"x", W/${etag}` } });
  expect(again).toMatchObject({ status: 304, body: "" });
  expect(again.headers).toMatchObject({
    etag,
    "cache-control": "public, max-age=300, no-transform",
    "last-modified": headers["last-modified"],
  });
  expect(again.headers["content-type"]).toBeUndefined();
  const since = { "If-Modified-Since": String(headers["last-modified"]) };
  expect((await server.ask({ method, headers: since })).status).toBe(304);
});

it.each(["POST", "PUT", "DELETE", "PATCH"])(
  "the card endpoint refuses %s and names what is allowed",
  async (method) => {
    await using server = await listen(serve().endpoint);
    const { status, headers } = await server.ask({ method });
    expect(status).toBe(405);
    expect(headers.allow).toBe("GET, HEAD");
  },
);

it.each(["/", "/.well-known/agent-card.json/", "/.well-known/agent-card", "/x/.well-known/agent-card.json"])(
  "the card endpoint leaves %s to others",
  async (path) => {
    await using server = await listen(serve().endpoint);
    expect((await server.ask({ path })).status).toBe(404);
  },
);

it("the card endpoint gives each caller the host it asked for, with an entity tag per host", async () => {
  await using server = await listen(serve().endpoint);
  const one = await server.ask({ headers: { Host: "one.example" } });
  const two = await server.ask({ headers: { Host: "two.example:81" } });
  expect([urlIn(one.body), urlIn(two.body)]).toEqual(["http://one.example/json-rpc", "http://two.example:81/json-rpc"]);
  expect(one.headers.etag).not.toBe(two.headers.etag);
});

it("the card endpoint refuses a host that cannot be one, unless the public URL is known", async () => {
  await using open = await listen(serve().endpoint);
  const headers = { Host: "evil.example/x" };
  expect(await open.ask({ headers })).toMatchObject({ status: 400, body: expect.not.stringContaining("evil") });
  await using publicServer = await listen(serve({ urls: { publicUrl: "https://port.example" } }).endpoint);
  expect(urlIn((await publicServer.ask({ headers })).body)).toBe("https://port.example/json-rpc");
});

it("the card endpoint names the headers of a trusted proxy in Vary", async () => {
  await using server = await listen(serve({ urls: { trustProxy: ["127.0.0.1"] } }).endpoint);
  const { headers, body } = await server.ask({
    headers: { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "port.example" },
  });
  expect(urlIn(body)).toBe("https://port.example/json-rpc");
  expect(headers.vary).toBe("Forwarded, X-Forwarded-Host, X-Forwarded-Prefix, X-Forwarded-Proto");
});

/** Returns the versions whose readers a card serves, found by the members that only they read. */
function readersOf(body: string): string {
  const card = JSON.parse(body) as object;
  return [...("supportedInterfaces" in card ? ["new"] : []), ...("preferredTransport" in card ? ["old"] : [])].join(
    "+",
  );
}

describe("of an agent that serves two versions", () => {
  it.each([
    [undefined, undefined, "new+old"],
    [undefined, "1.0", "new"],
    [undefined, "0.3", "old"],
    [undefined, "0.3.0", "old"],
    [undefined, "7.1", "new+old"],
    [undefined, "garbage", "new+old"],
    ["both", undefined, "new+old"],
    ["1.0", undefined, "new"],
    ["1.0", "0.3", "old"],
    ["0.3", undefined, "old"],
    ["0.3", "1.0", "new"],
    ["0.3", "7.1", "old"],
  ])("a card for %s is, for a caller that declares version %s, one for %s", async (audience, version, readers) => {
    const served = serve({ versions: [newest, older], ...(audience === undefined ? {} : { audience }) });
    await using server = await listen(served.endpoint);
    const headers: Record<string, string> = version === undefined ? {} : { "A2A-Version": version };
    const answers = await Promise.all(
      ["/.well-known/agent-card.json", "/.well-known/agent.json"].map((path) => server.ask({ path, headers })),
    );
    expect(answers.map(({ body }) => readersOf(body))).toEqual([readers, readers]);
    expect(answers.map((answer) => answer.headers.vary)).toEqual(["A2A-Version", "A2A-Version"]);
  });

  it("each form of the card of two versions has its own entity tag", async () => {
    await using server = await listen(serve({ versions: [newest, older] }).endpoint);
    const ask = (headers: Record<string, string>) => server.ask({ headers });
    const tags = [await ask({}), await ask({ "A2A-Version": "1.0" }), await ask({ "A2A-Version": "0.3" })].map(
      ({ headers }) => String(headers.etag),
    );
    expect(new Set(tags).size).toBe(3);
    const [union = "", pure = ""] = tags;
    expect((await ask({ "If-None-Match": union })).status).toBe(304);
    expect((await ask({ "If-None-Match": union, "A2A-Version": "1.0" })).status).toBe(200);
    expect((await ask({ "If-None-Match": pure, "A2A-Version": "1.0" })).status).toBe(304);
  });

  it("every caller gets the card of the newest version when nothing is mounted for the other", async () => {
    await using server = await listen(
      serve({ versions: [newest, older], mounted: [newest], audience: "0.3" }).endpoint,
    );
    for (const headers of [{}, { "A2A-Version": "0.3" }]) {
      expect(readersOf((await server.ask({ headers })).body)).toBe("new");
    }
  });
});

it("the card endpoint makes the card once for each place, and keeps no more than 16 places", async () => {
  const { places, endpoint } = serve();
  await using server = await listen(endpoint);
  const ask = (host: string) => server.ask({ headers: { Host: host } });
  await ask("known.example");
  for (let index = 0; index < 15; index += 1) await ask(`stranger-${index}.example`);
  await ask("known.example");
  expect(places).toHaveLength(16);
  await ask("stranger-15.example");
  await ask("known.example");
  expect(places).toHaveLength(17);
  await ask("stranger-0.example");
  expect(places).toHaveLength(18);
});
