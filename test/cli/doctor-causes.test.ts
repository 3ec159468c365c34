import { createServer, type RequestListener, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentOptions, type AgentServer, Client, completed, type ServeOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { explainTlsErrors } from "../../src/cli/doctor/finding.js";
import { checkReadiness } from "../../src/cli/doctor/readiness.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { trivium } from "../support/command.js";
import { storeLine } from "../support/store-line.js";
import { createVirtualClock, turnUntil } from "../support/virtual-clock.js";

// Each cause of a failing agent has its own line and its own remedy, and what is broken ends the command with 1.

interface Seen {
  readonly check: string;
  readonly result: "ok" | "warning" | "failed" | "skipped";
  readonly seen: string;
  readonly remedy?: string;
}

async function doctor(...args: readonly string[]) {
  const { code, stdout } = await trivium(["doctor", ...args, "--idle", "200ms", "--json"], {});
  const { ok, findings } = JSON.parse(stdout) as { readonly ok: boolean; readonly findings: readonly Seen[] };
  expect(code).toBe(ok ? 0 : 1);
  const of = (check: string): Seen | undefined => findings.find((each) => each.check.startsWith(check));
  return { code, findings, of };
}

const options = {
  card: { name: "Checked", description: "Is checked", version: "1" },
  port: 0,
  drainMs: 0,
  logger: false,
  agent: async () => completed(),
} satisfies ServeOptions;

const auth: AgentOptions["auth"] = {
  schemes: {
    key: apiKey({
      in: "header",
      name: "x-key",
      verify: (key) =>
        key === "right" ? { subject: "ada", scopes: ["read"] } : key === "poor" ? { subject: "bob" } : undefined,
    }),
  },
  require: [{ key: [] }],
  operations: { getTask: [{ key: ["read"] }] },
};

async function proxyOf(answer: RequestListener): Promise<{ readonly url: string } & AsyncDisposable> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A proxy of HTTP/1.1 that passes requests on, unless `stop` answers. */
function passing(agent: AgentServer, stop: (path: string) => { readonly status: number } | undefined, added = {}) {
  return proxyOf((incoming, outgoing) => {
    const stopped = stop(incoming.url ?? "");
    if (stopped !== undefined) {
      incoming.resume();
      outgoing.writeHead(stopped.status, { "content-type": "text/html" }).end("<h1>No</h1>");
      return;
    }
    const { method, url: path, headers } = incoming;
    const to = { host: "127.0.0.1", port: agent.port, method, path, headers: { ...headers, ...added } };
    const passed = request(to, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
}

describe.concurrent("credentials", () => {
  it("trivium doctor asks for credentials that are missing, and fails nothing", async () => {
    await using agent = await serve({ ...options, auth });
    const { code, of } = await doctor(agent.url);
    expect([code, of("interface JSONRPC 1.0")]).toMatchObject([
      0,
      { result: "warning", remedy: "give --bearer, --credential or --header" },
    ]);
  });

  it.each([
    ["that the agent refuses", "wrong", /refuses these credentials/, /not expired/],
    ["without a permission", "poor", /does not permit the call/, /scopes that the card requires/],
  ])("trivium doctor fails with credentials %s, and does not ask for them again", async (_, key, seen, remedy) => {
    await using agent = await serve({ ...options, auth });
    const { code, of } = await doctor(agent.url, "--credential", `key=${key}`);
    expect(code).toBe(1);
    for (const binding of ["JSONRPC", "GRPC", "HTTP+JSON"]) {
      expect(of(`interface ${binding} 1.0`)).toMatchObject({
        result: "failed",
        seen: expect.stringMatching(seen),
        remedy: expect.stringMatching(remedy),
      });
    }
  });

  it("trivium doctor passes with right credentials", async () => {
    await using agent = await serve({ ...options, auth });
    expect((await doctor(agent.url, "--credential", "key=right")).code).toBe(0);
  });
});

describe.concurrent("a proxy", () => {
  it.each([
    [403, /a proxy, a firewall or a web server refuses/],
    [429, /a proxy limits/],
    [502, /cannot reach the agent/],
    [503, /has no agent that takes calls/],
    [504, /did not answer the proxy in time/],
  ])("trivium doctor names a proxy as the cause that answers calls with a page of %i", async (status, remedy) => {
    await using agent = await serve(options);
    await using proxy = await passing(agent, (path) =>
      path.startsWith("/.well-known/") || path === "/readyz" ? undefined : { status },
    );
    const { code, of } = await doctor(proxy.url);
    expect(code).toBe(1);
    for (const binding of ["JSONRPC", "HTTP+JSON"]) {
      expect(of(`interface ${binding} 1.0`)).toMatchObject({ result: "failed", remedy: expect.stringMatching(remedy) });
    }
  });

  it.each([
    [401, /needs credentials/],
    [403, /refuses the call/],
    [502, /cannot reach the agent/],
  ])("trivium doctor names a proxy as the cause that answers for the card with %i", async (status, remedy) => {
    await using proxy = await proxyOf((_, response) => response.writeHead(status).end());
    const { code, of } = await doctor(proxy.url);
    expect([code, of("card")]).toMatchObject([1, { result: "failed", remedy: expect.stringMatching(remedy) }]);
    expect(of("readiness")).toMatchObject({ result: "skipped" });
  });

  it("trivium doctor reports a proxy that reports callers to a server that does not trust it", async () => {
    const added = { "x-forwarded-for": "203.0.113.9" };
    await using agent = await serve(options);
    await using proxy = await passing(agent, () => undefined, added);
    expect((await doctor(proxy.url)).of("caller addresses")).toMatchObject({
      result: "warning",
      remedy: expect.stringContaining("trustProxy"),
    });
    expect((await doctor(agent.url)).of("caller addresses")).toBeUndefined();
    await using trusting = await serve({ ...options, trustProxy: ["127.0.0.1"] });
    await using trusted = await passing(trusting, () => undefined, added);
    expect((await doctor(trusted.url)).of("caller addresses")).toBeUndefined();
  });
});

describe.concurrent("a server that refuses work", () => {
  const blamesNoProxy = (findings: readonly Seen[]): void => {
    const ofInterfaces = findings.filter(({ check }) => check.startsWith("interface"));
    expect(ofInterfaces.length).toBeGreaterThan(0);
    for (const { remedy = "" } of ofInterfaces) expect(remedy).not.toMatch(/proxy|trailers/);
  };

  it("trivium doctor asks a server that drains first, and blames no proxy", async () => {
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const agent = await serve({
      ...options,
      drainMs: 60_000,
      async agent() {
        begun.resolve();
        await done.promise;
        return completed();
      },
    });
    await using client = await Client.connect(agent.url);
    const sent = client.send("hold").catch((error: unknown) => error);
    await begun.promise;
    const closed = agent.close();
    const { code, findings, of } = await doctor(agent.url);
    expect([code, of("readiness")]).toMatchObject([1, { result: "failed", seen: expect.stringContaining("draining") }]);
    blamesNoProxy(findings);
    done.resolve();
    await Promise.all([closed, sent]);
  });

  it("trivium doctor asks a server whose store is away first, and blames no proxy", async () => {
    const clock = createVirtualClock();
    const line = storeLine(memoryTaskStore({ clock }));
    const agent = await serve({ ...options, clock, store: line.store });
    line.cut();
    await clock.advance(13_100);
    const checking = doctor(agent.url, "--timeout", "3000");
    await turnUntil(
      clock,
      checking.then(() => {}),
    );
    const { code, findings, of } = await checking;
    expect([code, of("readiness")]).toMatchObject([
      1,
      { result: "failed", seen: expect.stringContaining("store"), remedy: expect.stringContaining("--store") },
    ]);
    blamesNoProxy(findings);
    line.restore();
    await turnUntil(clock, agent.close());
  });

  it.each([
    ["draining", "failed"],
    ["store-away", "failed"],
    ["overloaded", "failed"],
    ["ready", "ok"],
    ["fine", "skipped"],
  ])("the readiness check of trivium doctor takes a server whose status is %s as %s", async (status, result) => {
    await using server = await proxyOf((_, response) => response.end(JSON.stringify({ status })));
    const { findings } = await checkReadiness({ url: server.url, timeoutMs: 5000 });
    expect(findings).toMatchObject([{ check: "readiness", result }]);
  });
});

describe("what OpenSSL says", () => {
  it.each([
    [
      "write EPROTO 40AD284C567F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:77:\n",
      "the port does not speak TLS",
    ],
    [
      "40AD:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:908:SSL alert number 116\n",
      "the server requires a client certificate",
    ],
    [
      "40AD:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:../deps/rec.c:908:SSL alert number 48\n",
      "the server does not know the authority of the client certificate",
    ],
    [
      "No connection established. Last error: Error: 40AD:error:0A00010B:SSL routines:f:wrong version number:../a.c:77:\n",
      "No connection established. Last error: Error: the port does not speak TLS",
    ],
    ["40AD:error:0A000999:SSL routines:f:something new:../a.c:77:\n", "TLS failed: something new"],
    ["connect ECONNREFUSED 127.0.0.1:1", "connect ECONNREFUSED 127.0.0.1:1"],
  ])("what OpenSSL says is put in words: %s", (text, words) => {
    expect(explainTlsErrors(text)).toBe(words);
  });
});
