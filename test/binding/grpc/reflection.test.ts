import { gateway, reply, type ServeOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { frame, type RawAnswer, rawSession } from "../../support/grpc-raw.js";

// Reflection tells what callers may know: it needs the credentials that calls need.

const card = { name: "Guarded", description: "Answers its callers", version: "1.0.0" };
const auth = { schemes: { key: apiKey({ in: "header", name: "x-key", verify: (key) => key === "k" && "ann" }) } };
const paths = ["v1", "v1alpha"].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);
/** `list_services: "*"` */
const listServices = frame(Buffer.from([7 * 8 + 2, 1, 0x2a]));

function ask(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
  const raw = rawSession(port);
  return raw.call("", listServices, { ":path": path, ...headers }).finally(() => raw[Symbol.dispose]());
}

const start = (options: Partial<ServeOptions>) =>
  serve({ card, agent: async () => reply("hi"), port: 0, logger: false, drainMs: 0, ...options });

describe.each(paths)("%s", (path) => {
  it("reflection needs credentials where calls do", async () => {
    await using server = await start({ auth });
    for (const headers of [{}, { "x-key": "wrong" }]) {
      const refused = await ask(server.port, path, headers);
      expect([refused.status, refused.body.length]).toEqual([16, 0]);
    }
    const { status, body } = await ask(server.port, path, { "x-key": "k" });
    expect([status, body.toString("latin1")]).toEqual([0, expect.stringContaining("lf.a2a.v1.A2AService")]);
  });

  it("reflection needs credentials with `authenticate`, also on a port of its own or of a gateway", async () => {
    const authenticate: ServeOptions["authenticate"] = ({ header }) =>
      header("x-key") === "k" ? { owner: "ann" } : undefined;
    await using own = await start({ authenticate, grpcPort: 0 });
    await using open = await start({});
    await using front = await gateway({ upstream: open.url, auth, port: 0, logger: false, drainMs: 0 });
    const agents = { "/": { card, agent: async () => reply("hi") } };
    await using several = await serve({ agents, auth, port: 0, logger: false, drainMs: 0 });
    for (const port of [own.grpcPort, front.port, several.port]) {
      expect((await ask(port, path)).status).toBe(16);
      expect((await ask(port, path, { "x-key": "k" })).status).toBe(0);
    }
  });

  it("reflection answers everybody where calls need no credentials", async () => {
    await using server = await start({});
    expect((await ask(server.port, path)).status).toBe(0);
  });

  it("reflection can be turned off", async () => {
    await using server = await start({ reflection: false });
    expect((await ask(server.port, path)).status).toBe(12);
    const check = "/grpc.health.v1.Health/Check";
    const raw = rawSession(server.port);
    expect((await raw.call("", frame(Buffer.alloc(0)), { ":path": check })).status).toBe(0);
    raw[Symbol.dispose]();
  });
});

it("guesses of credentials for reflection count as those of calls do", async () => {
  await using server = await start({ auth, rate: { failedAttempts: { limit: 3, windowMs: 60_000 } } });
  const [path = ""] = paths;
  const codes: number[] = [];
  for (let guess = 0; guess < 5; guess++) codes.push((await ask(server.port, path, { "x-key": `g${guess}` })).status);
  expect(codes).toEqual([16, 16, 16, 8, 8]);
});
