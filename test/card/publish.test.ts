import { expect, it } from "vitest";
import type { Mount } from "../../src/card/mounts.js";
import type { CardOptions } from "../../src/card/options.js";
import { type PublishOptions, publishCard } from "../../src/card/publish.js";
import { A2AError } from "../../src/protocol/errors.js";
import type { Version } from "../../src/version/codec.js";
import * as flat from "../../src/version/v0.3/card.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { listen } from "./ask.js";

const rpc: Mount = { binding: "JSONRPC", version: "1.0", path: "/json-rpc" };
const grpc: Mount = { binding: "GRPC", version: "1.0", path: "" };
const skill = { id: "tug", name: "Tugs", description: "Orders tugs", tags: ["tug"] };

function publish(card: Partial<CardOptions> = {}, more: Partial<PublishOptions> = {}) {
  let now = Date.parse("2026-03-04T05:06:07Z");
  return publishCard({
    card: { name: "Port Planner", description: "Plans berths", version: "3.1.0", ...card },
    capabilities: { streaming: true, pushNotifications: false, authentication: true },
    versions: [v1],
    urls: {},
    listening: () => ({ origin: "http://127.0.0.1:8080" }),
    now: () => (now += 1000),
    ...more,
  });
}

const caller = (host: string) => ({
  secure: true,
  remoteAddress: undefined,
  header: (name: string) => (name === "host" ? host : undefined),
});

it("a published card reports problems of the card and of the addresses at once", () => {
  const broken = () => publish({ name: "" }, { urls: { publicUrl: "port.example" } });
  expect(broken).toThrow(/2 problems:\n- card\.name is empty.*\n- publicUrl must be an absolute URL/);
});

it("a published card lists what is mounted at the agent's own address, or at the caller's", () => {
  const published = publish();
  published.mount([grpc, { ...rpc, tenant: "north" }]);
  const urls = (from?: string) =>
    published.card(from === undefined ? undefined : caller(from)).supportedInterfaces.map(({ url }) => url);
  expect(urls()).toEqual(["127.0.0.1:8080", "http://127.0.0.1:8080/json-rpc"]);
  expect(urls("port.example")).toEqual(["port.example:443", "https://port.example/json-rpc"]);
  expect(urls("no host")).toEqual(urls());
  expect(published.card().supportedInterfaces[1]?.tenant).toBe("north");
});

it("a published card serves nothing before something is mounted, and a fresh card when that changes", async () => {
  const published = publish({ cacheMaxAgeSeconds: 0 });
  await using server = await listen(published.endpoint);
  expect((await server.ask()).status).toBe(404);
  published.mount([rpc]);
  const before = await server.ask();
  published.mount([rpc, grpc]);
  const after = await server.ask({ headers: { "If-None-Match": String(before.headers.etag) } });
  expect(after.status).toBe(200);
  expect(JSON.parse(after.body)).toMatchObject({
    supportedInterfaces: [{ protocolBinding: "JSONRPC" }, { protocolBinding: "GRPC" }],
  });
  expect(after.headers["last-modified"]).not.toBe(before.headers["last-modified"]);
  expect(after.headers["cache-control"]).toBe("public, max-age=0, no-transform");
});

it.each([
  ["nothing", [], /mounted on no binding/],
  ["one interface twice", [rpc, rpc], /mounted twice/],
])("a published card refuses to be mounted on %s, and stays as it was", (_, mounts, message) => {
  const published = publish();
  published.mount([grpc]);
  expect(() => published.mount(mounts)).toThrow(message);
  expect(published.card().supportedInterfaces).toHaveLength(1);
});

const older: Version = { ...v1, name: "0.3", ...flat };

it.each([
  ["no version", "o.3", 'card.audience must be "both" or a version that is served (1.0, 0.3), not "o.3"'],
  [
    "a version that is not served",
    "0.2",
    'card.audience must be "both" or a version that is served (1.0, 0.3), not "0.2"',
  ],
])("a published card refuses to be for %s", (_, audience, problem) => {
  const versions = [v1, older] as const;
  expect(() => publish({ audience: audience as "0.2" }, { versions })).toThrow(problem);
});

it("a published card refuses readers that could call none of its interfaces", () => {
  const published = publish({ audience: "0.3" }, { versions: [v1, older] });
  expect(() => published.mount([rpc])).toThrow(
    "card.audience is 0.3, but nothing is mounted that its readers can call",
  );
  published.mount([rpc, { ...rpc, version: "0.3" }]);
  expect(published.card().supportedInterfaces).toHaveLength(2);
});

// Requirements: V03-CARD-9
it("a published card refuses to be mounted where no reader of an older version finds a transport that it knows", () => {
  const published = publish({}, { versions: [v1, older] });
  const own: Mount = { binding: "urn:port:pigeon", version: "0.3", path: "/pigeon" };
  expect(() => published.mount([rpc, own])).toThrow(
    "the card of 0.3 lists none of JSONRPC, GRPC, HTTP+JSON: mount one, or leave 0.3 out of the versions",
  );
});

it("a published card has no extended card when the author gave none", () => {
  expect(publish().extended).toBeUndefined();
});

it("a published extended card shows a known caller more, at the address that it asked", async () => {
  const published = publish({ extended: { skills: [skill] } });
  published.mount([rpc]);
  const card = await published.extended?.({ owner: "ann" }, caller("port.example"));
  expect(card?.skills.map(({ id }) => id)).toEqual(["port-planner", "tug"]);
  expect(card?.supportedInterfaces[0]?.url).toBe("https://port.example/json-rpc");
});

it("a published extended card shows each caller the result of the author's function", async () => {
  const { extended } = publish({
    extended: async ({ owner }) => (owner === "ann" ? { description: `For ${owner}` } : undefined),
  });
  expect((await extended?.({ owner: "ann" }))?.description).toBe("For ann");
  await expect(extended?.({ owner: "bob" })).rejects.toMatchObject({ code: "extendedAgentCardNotConfigured" });
});

it("a published extended card hands on the refusal of the author's function", async () => {
  const denied = new A2AError("permissionDenied", "staff only");
  const { extended } = publish({
    extended: ({ owner }) => {
      if (owner === "bob") throw denied;
      return { skills: [{ ...skill, tags: [] }] };
    },
  });
  await expect(extended?.({ owner: "bob" })).rejects.toBe(denied);
  await expect(extended?.({ owner: "ann" })).rejects.toThrow(/card\.extended\.skills\[0\]\.tags is empty/);
});
