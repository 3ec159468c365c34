import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { nodeListener } from "../binding/http/node-listener.js";
import type { RequestListener } from "../binding/listen/connection.js";
import { laterEngine } from "../binding/listen/later-engine.js";
import { createListener, type Listener } from "../binding/listen/listener.js";
import type { CallHead } from "../binding/service.js";
import type { Listening } from "../card/urls.js";
import type { Clock } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { pause } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import { assertOptions } from "../protocol/check/rules.js";
import { composeAgent, type HostedAgent, hosted } from "./agent.js";
import { engineOf } from "./bindings.js";
import { createFallback } from "./fallback.js";
import { isAuthenticated, tlsWithAuth } from "./guarded.js";
import type { ComposedAgent, InProcessAgent } from "./host.js";
import { createHostGuard, guardedEndpoint, type HostGuard } from "./host-guard.js";
import { loadLater } from "./load-later.js";
import { serveRule } from "./option-rules.js";
import type { HostOptions, ListenOptions, ServeOptions } from "./options.js";
import { createReadiness, type Readiness } from "./readiness.js";

/** A listening server. */
export interface Server extends InProcessAgent {
  /** Base URL of the agent: `http://127.0.0.1:41241`. */
  readonly url: string;
  /** The port that it listens on, also when 0 was asked for. */
  readonly port: number;
  /** Port of gRPC; the shared one unless gRPC has its own. */
  readonly grpcPort: number;
  /**
   * Is not ready for `lameDuckMs`, then refuses new work, waits for streams and turns for up to `drainMs`, aborts the
   * rest, and closes. Calling it again waits for the same end.
   */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server of an agent that runs in this process. */
export interface AgentServer extends Server, HostedAgent {}

const defaultPort = 41241;
const defaultDrainMs = 10_000;
/**
 * How long connections get to flush when nothing more is written; other streams, such as health watches, have that time
 * too.
 */
const lastWordsMs = 2000;
/** How long connections may still bring work once they were asked to close. */
const lastRequestsMs = 1000;

/**
 * Serves an agent on one port: JSON-RPC, HTTP+JSON and gRPC over HTTP/1.1, HTTP/2 and, with `tls`, TLS. Rejects when the
 * card contradicts itself, the port is taken, or the host is reachable from other machines without `auth`, `authenticate` or `anonymous`.
 */
export async function serve(options: ServeOptions): Promise<AgentServer> {
  assertOptions("serve()", options, serveRule);
  const { server, agent } = await listenWith(options, (listening) => composeAgent(options, listening));
  if (options.store === undefined) agent.logger.info({}, "tasks are kept in memory and are lost with the process");
  return Object.assign(server, hosted(agent));
}

/** Serves what `compose` creates on a port; `listening` returns the address once it is known. */
export async function listenTo(
  options: HostOptions & ListenOptions,
  compose: (listening: () => Listening) => Promise<ComposedAgent>,
): Promise<Server> {
  return (await listenWith(options, compose)).server;
}

async function listenWith<A extends ComposedAgent>(
  options: HostOptions & ListenOptions,
  compose: (listening: () => Listening) => Promise<A>,
): Promise<{ readonly server: Server; readonly agent: A }> {
  const {
    port = portOfEnvironment(),
    host = "127.0.0.1",
    tls,
    grpcPort,
    drainMs = defaultDrainMs,
    lameDuckMs = 0,
  } = options;
  assertGuarded(options, host);
  const guard = createHostGuard(options);
  const scheme = tls === undefined ? "http" : "https";
  let bound = { port, grpcPort };
  const origin = (): string => `${scheme}://${hostInUrl(host)}:${bound.port}`;
  const agent = await compose(() => ({ origin: origin(), grpcPort: bound.grpcPort }));
  const ready = createReadiness();
  agent.handler.watchStore?.(ready.storeReady);
  agent.load?.watch(ready.loadReady);
  const guarded = !isAuthenticated(options) && isLoopback(host) ? guard : undefined;
  const http = createHttp(options, agent, { ready, guard: guarded });
  const listeners = await listen({ ...options, port, host, guard: guarded }, agent, http);
  ready.watch(listeners.setServing);
  bound = { port: listeners.main.port, grpcPort: listeners.grpc?.port };
  const stopLoading = loadLater([listeners.load], agent.admission.idle);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    stopLoading();
    closing ??= shutDown(agent, { listeners, ready, drainMs, lameDuckMs, clock: options.clock ?? systemClock });
    return closing;
  };
  if (options.handleSignals === true) closeOnSignals(close, agent);
  const server: Server = {
    url: origin() + (options.basePath ?? ""),
    port: bound.port,
    grpcPort: bound.grpcPort ?? bound.port,
    get card() {
      return agent.card.card();
    },
    inProcess: agent.inProcess,
    close,
    [Symbol.asyncDispose]: close,
  };
  const { bindings, versions, logger } = agent;
  const own = grpcPort === undefined ? {} : { grpcPort: server.grpcPort };
  logger.info({ url: server.url, ...own, bindings, versions: versions.map(({ name }) => name) }, "listening");
  return { server, agent };
}

function createHttp(
  options: Pick<ListenOptions, "app"> & Pick<HostOptions, "basePath">,
  agent: ComposedAgent,
  { ready, guard }: { readonly ready: Readiness; readonly guard: HostGuard | undefined },
): RequestListener {
  const onError = (error: unknown): void => agent.logger.error({ err: error }, "a request could not be answered");
  const endpoint = guard === undefined ? agent.endpoint : guardedEndpoint(agent, guard, options);
  const protocol = nodeListener(endpoint, { times: agent.limits, onError });
  const fallback = createFallback(options.app, ready, agent.logger);
  return (request, response) =>
    protocol(request, response, () => fallback(request as IncomingMessage, response as ServerResponse));
}

interface Listeners {
  readonly main: Listener;
  readonly grpc: Listener | undefined;
  setServing(serving: boolean): void;
  /** Loads what accepts HTTP/2, which the first such connection does otherwise. */
  load(): Promise<void>;
}

async function listen(
  options: HostOptions &
    ListenOptions & { readonly port: number; readonly host: string; readonly guard: HostGuard | undefined },
  agent: ComposedAgent,
  http: RequestListener,
): Promise<Listeners> {
  const { port, host, grpcPort, guard } = options;
  const tls = tlsWithAuth(options);
  const { limits, logger, service, versions, bindings } = agent;
  const base = { host, tls, limits };
  try {
    const refuse = guard && ((caller: Pick<CallHead, "header">) => guard.grpc(caller)?.error);
    const engine = engineOf(bindings, { versions, service, limits, logger, refuse });
    if (engine === undefined) {
      const main = await createListener({ ...base, port, http });
      return { main, grpc: undefined, setServing: noop, load: async () => {} };
    }
    const onError = (error: unknown): void => logger.error({ err: error }, "the code of gRPC could not be loaded");
    const http2 = laterEngine(() => engine.connect(grpcPort === undefined ? http : undefined), onError);
    const { setServing } = engine;
    const { load } = http2;
    if (grpcPort === undefined) {
      return { main: await createListener({ ...base, port, http, http2 }), grpc: undefined, setServing, load };
    }
    const main = await createListener({ ...base, port, http });
    return { main, grpc: await createListener({ ...base, port: grpcPort, http2 }), setServing, load };
  } catch (error) {
    await agent.dispose();
    throw portTaken(error, port, host);
  }
}

interface ShutDown {
  readonly listeners: Listeners;
  readonly ready: Readiness;
  readonly drainMs: number;
  readonly lameDuckMs: number;
  readonly clock: Clock;
}

async function shutDown(
  agent: ComposedAgent,
  { listeners, ready, drainMs, lameDuckMs, clock }: ShutDown,
): Promise<void> {
  const each = [listeners.main, listeners.grpc].filter((listener) => listener !== undefined);
  ready.drain();
  if (lameDuckMs > 0) {
    // Balancers need time to notice, and then the peers of open connections: work that was sent before is accepted.
    await pause(clock, lameDuckMs);
    await Promise.all(each.map((listener) => listener.retire(lastRequestsMs)));
  }
  agent.admission.close();
  for (const listener of each) void listener.retire(0);
  // The port stays open meanwhile: new calls get `unavailable` with a retry delay, and readiness checks are answered.
  await agent.handler.drain(drainMs);
  await agent.dispose();
  await Promise.all(each.map((listener) => listener.drain(lastWordsMs)));
}

function closeOnSignals(close: () => Promise<void>, { logger }: ComposedAgent): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      logger.info({ signal }, "closing");
      close().then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, "the server could not be closed");
          process.exit(1);
        },
      );
    });
  }
}

// Every caller who reaches the port could read all tasks, so the option must say so explicitly.
function assertGuarded(
  options: Pick<HostOptions & ListenOptions, "auth" | "authenticate" | "anonymous">,
  host: string,
): void {
  if (isAuthenticated(options) || options.anonymous === "shared" || isLoopback(host)) return;
  throw new TypeError(
    `host ${host} can be reached from other machines: give \`auth\` or \`authenticate\`, or say \`anonymous: "shared"\` to let all callers share all tasks`,
  );
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIP(host) === 6 ? `[${host}]` : host;
}

// Hosting platforms set this variable; it applies when the program sets no port.
function portOfEnvironment(): number {
  const { PORT } = process.env;
  if (PORT === undefined || PORT === "") return defaultPort;
  const port = Number(PORT);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new TypeError(`PORT in the environment must be a port from 0 to 65535, not "${PORT}"`);
}

function portTaken(error: unknown, port: number, host: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE") return error;
  return new Error(`port ${port} on ${host} is taken: choose another one with \`port\``, { cause: error });
}
