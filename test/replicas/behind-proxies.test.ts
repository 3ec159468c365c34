import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { type MortalServer, mortalServer } from "../crash/mortal-server.js";
import { hasSdks, type Load, type LoadCall, startLoad } from "../interop/load.js";
import {
  hasProxy,
  type ProxyName,
  type ProxyProcess,
  shippedConfig,
  shippedFiles,
  startProxy,
} from "../proxies/proxy.js";
import { fixedPort } from "../support/fixed-port.js";
import { localTls } from "../support/tls.js";
import { newDatabase } from "./database.js";

// Three replicas behind each proxy with its configuration of deploy/ as it is, and the official SDKs as callers, which
// retry nothing: every call that fails in a rolling restart is a fault. A replica that is killed breaks calls. Those may
// fail, and no agent may run twice for one.

const names = ["haproxy", "nginx", "envoy"] as const satisfies readonly ProxyName[];
const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

const isInstalled = inject("postgres") !== undefined && names.map(hasProxy).every(Boolean) && hasSdks();

/** What callers send: an agent replies after 100 ms, and streams twelve chunks in 50 ms and three times 30 ms. */
const texts = { send: "reply 0 100", stream: "count 12 30" } as const;

interface Scene extends AsyncDisposable {
  readonly servers: readonly MortalServer[];
  readonly load: Load;
  /** What the proxies have said. */
  readOutput(): string;
}

/** Starts proxies together with their replicas, so that each proxy knows nothing of them, and then callers. */
async function startScene(lameDuckMs: number): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-shipped-"));
  const certificate = join(folder, "ca.pem");
  writeFileSync(certificate, localTls.cert);
  const options = {
    ...{ store: await newDatabase(), runs: join(folder, "runs"), lameDuckMs },
    ...{ restartable: false, handleSignals: true, instanceTtlMs: 60_000 },
  };
  const servers = [await mortalServer(options), await mortalServer(options), await mortalServer(options)];
  const ports = servers.map(({ port }) => port);
  const proxies: ProxyProcess[] = [];
  let load: Load | undefined;
  const end = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    await load?.stop().catch(() => {});
    await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [urls] = await Promise.all([
      Promise.all(
        names.map(async (name) => {
          const port = await fixedPort();
          proxies.push(await startProxy(name, { config: shippedConfig(name, port, ports), files: shippedFiles, port }));
          return { name, url: `https://localhost:${port}` };
        }),
      ),
      ...servers.map((server) => server.start()),
    ]);
    for (const { url } of urls) await expect.poll(() => statusOf(`${url}/readyz`)).toBe(200);
    const targets = urls.flatMap(({ name, url }) =>
      bindings.map((binding) => ({ name: `${name} ${binding}`, url, binding })),
    );
    load = startLoad({ targets, texts, certificate });
    const readOutput = (): string => proxies.map((proxy) => proxy.readOutput()).join("\n");
    return { servers, load, readOutput, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { ca: localTls.cert, agent: false }, (answer) => resolve(answer.resume().statusCode)).on("error", () =>
      resolve(undefined),
    );
  });
}

const describeCall = ({ sdk, name, call }: LoadCall): string => `${sdk} ${name} ${call}`;

/** Says what is wrong with the answer to a call. */
function faultOf(answered: LoadCall): string | undefined {
  const { call, id, text, error } = answered;
  if (error !== undefined) return `${describeCall(answered)} failed: ${error.slice(-500)}`;
  const wanted = call === "send" ? `reply to ${id}` : Array.from({ length: 12 }, (_, index) => `1:${index}`).join(" ");
  const seen = call === "send" ? text : (text ?? "").replaceAll(/ \.*\n/g, " ").trim();
  return seen === wanted ? undefined : `${describeCall(answered)} answered ${seen}`;
}

const faultsOf = ({ load }: Scene): readonly string[] => load.calls.flatMap((call) => faultOf(call) ?? []);

/** The calls for which the agent ran more than once. */
function doubled({ servers, load }: Scene): readonly string[] {
  const counts = new Map<string, number>();
  for (const { kind, messageId } of servers[0]?.runs() ?? [])
    if (kind === "begun") counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
  return load.calls.filter(({ id }) => (counts.get(id) ?? 0) > 1).map(describeCall);
}

describe.skipIf(!isInstalled)("replicas behind HAProxy, nginx and Envoy as deploy/ has them", () => {
  it("replicas behind proxies fail no call of an SDK in a rolling restart, and run no agent twice", {
    timeout: 240_000,
  }, async () => {
    await using scene = await startScene(3_000);
    const { servers, load } = scene;
    const codes: unknown[] = [];
    for (const server of servers) {
      await load.until(2);
      codes.push(await server.terminate());
      await server.start();
    }
    await load.until(2);
    await load.stop();
    expect(faultsOf(scene), scene.readOutput()).toEqual([]);
    expect(doubled(scene)).toEqual([]);
    expect(codes).toEqual([0, 0, 0]);
  });

  it("replicas behind proxies run no agent twice when one is killed in mid-send", { timeout: 240_000 }, async () => {
    await using scene = await startScene(0);
    const { servers, load } = scene;
    for (const server of servers) {
      await load.until(2);
      await server.kill();
      await load.until(2);
      await server.start();
    }
    await load.until(2);
    await load.stop();
    expect(doubled(scene)).toEqual([]);
    // Calls were under way. They fail, and nobody is told that nothing has begun.
    const faults = faultsOf(scene);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.filter((fault) => /\b503\b/.test(fault))).toEqual([]);
  });
});
