import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const program = fileURLToPath(new URL("loading-child.mjs", import.meta.url));

/** Sources and packages that a program has loaded once its server listens, and again once it has answered a message. */
interface Loaded {
  readonly status: number;
  readonly started: readonly string[];
  readonly answered: readonly string[];
}

type Options = "plain" | "authenticate" | "auth" | "interceptors" | "sqlite" | "named" | "listed";

const starts = new Map<string, Loaded>();

/** What a server with these options loads. Each kind starts once. */
function loadedWith(options: Options): Loaded {
  const cachedStart = starts.get(options);
  if (cachedStart !== undefined) return cachedStart;
  if (!existsSync(fileURLToPath(new URL("../../dist/src/index.js", import.meta.url)))) {
    throw new Error("dist is missing: run npm run build");
  }
  const loaded: Loaded = JSON.parse(execFileSync(process.execPath, [program, options], { encoding: "utf8" }));
  starts.set(options, loaded);
  return loaded;
}

const gate = ["auth/gate"];
const guarding = ["server/authentication-schemes"];
const naming = ["server/multi-agent", "server/multi-agent-rules", "server/local-clients", "client/local-client"];
const listing = ["server/catalogue"];
const wrapping = ["protocol/intercept", "server/call-observer"];

describe("the built server loads", () => {
  it("the built server loads nothing of options that are not given", () => {
    const { status, answered } = loadedWith("plain");
    expect(status).toBe(200);
    expect(answered).toEqual(expect.arrayContaining(["server/serve", "core/request-handler"]));
    expect(answered.filter((name) => name.startsWith("auth/schemes/"))).toEqual([]);
    const optional = [...gate, ...guarding, ...wrapping, ...naming, ...listing];
    expect(optional.filter((name) => answered.includes(name))).toEqual([]);
  });

  it("the built server loads clients for the turns of named agents, and their list only on request", () => {
    const { status, started, answered } = loadedWith("named");
    expect(status).toBe(200);
    expect(started).toEqual(expect.arrayContaining(naming));
    expect(answered.filter((name) => listing.includes(name))).toEqual([]);
    expect(loadedWith("listed").started).toEqual(expect.arrayContaining([...naming, ...listing]));
  });

  it("the built server loads gRPC and HTTP/2 once it listens, on its own", () => {
    const { started } = loadedWith("plain");
    const late = ["@grpc/grpc-js", "binding/grpc/server", "binding/grpc/listener", "binding/listen/http2-engine"];
    expect(late.filter((name) => started.includes(name))).toEqual([]);
  });

  it.each(["plain", "sqlite"] as const)(
    "the built server loads none of the packages that a start does not need: %s",
    (options) => {
      const { started } = loadedWith(options);
      expect(started).toContain("packages/common");
      const others = [
        "@grpc/grpc-js",
        "commander",
        "jose",
        "koa",
        "oauth4webapi",
        "packages/connectrpc",
        "packages/thread",
        "undici",
      ];
      expect(others.filter((name) => started.includes(name))).toEqual([]);
    },
  );

  it("the built server loads no gate for an agent that authenticates by itself", () => {
    const { status, started } = loadedWith("authenticate");
    expect(status).toBe(200);
    expect(started).toEqual(expect.arrayContaining(guarding));
    expect([...gate, ...wrapping].filter((name) => started.includes(name))).toEqual([]);
  });

  it("the built server loads what its options need before it listens", () => {
    const { status, started } = loadedWith("auth");
    expect(status).toBe(401);
    expect(started).toEqual(expect.arrayContaining([...gate, ...guarding]));
    expect(loadedWith("interceptors").started).toEqual(expect.arrayContaining(wrapping));
  });
});
