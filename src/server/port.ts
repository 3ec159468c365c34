import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { TlsOptions } from "node:tls";
import { nodeListener } from "../binding/http/node-listener.js";
import { NodeRequest, splitTarget } from "../binding/http/node-request.js";
import type { RequestListener } from "../binding/listen/connection.js";
import { sendContinue } from "../binding/listen/continue.js";
import type { OpenUnsent } from "../binding/listen/unsent.js";
import { createPeerCheck } from "../card/proxy.js";
import { noop } from "../protocol/async/noop.js";
import { pause, within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import type { Binding } from "../protocol/bindings.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentRegistry } from "./agent-registry.js";
import type { ComposedAgent } from "./composition.js";
import type { Directory } from "./directory.js";
import type { HostGuard } from "./host-guard.js";
import { createFallback } from "./koa/fallback.js";
import type { Limits } from "./limits.js";
import { type Listeners, openListeners } from "./listeners.js";
import type { BaseServerOptions, ListenOptions } from "./options.js";
import type { Load } from "./overload/load.js";
import { createReadiness, type Readiness } from "./readiness.js";

/** A listening port. */
export interface ListeningPort {
  /** Base URL of the server: `http://127.0.0.1:41241`. */
  readonly url: string;
  /** The port, also when 0 was requested. */
  readonly port: number;
  /** Port of gRPC: `port`, unless gRPC has its own. */
  readonly grpcPort: number;
  /**
   * Closes the server: reports not ready for `lameDuckMs`, then refuses new work, waits up to `drainMs` for streams and
   * turns, and aborts the rest. A second call waits for the same end.
   */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const defaultHost = "127.0.0.1";
export const defaultDrainMs = 10_000;
const defaultPort = 41241;
/**
 * How long connections get to flush when nothing more is written; other streams, such as health watches, have that time
 * too.
 */
const lastWordsMs = 2000;
/** How long connections may still bring work once they were asked to close. */
const lastRequestsMs = 1000;
/**
 * Minimum time for which new work is refused after `lameDuckMs`, before the port closes. Balancers without health checks
 * learn of the end by these refusals, and may repeat the calls elsewhere. A connection that comes while the port closes
 * breaks.
 */
const lastRefusalsMs = 1000;
/** Pause before the code of gRPC is loaded. */
const loadPauseMs = 100;
/** Longest wait for an idle moment before that. */
const loadPatienceMs = 2_000;

/** The address of a server: what it was asked for, and from when it listens what it got. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
  address(): { readonly origin: string; readonly grpcPort: number | undefined };
  /** `undefined` until the server listens. */
  listeners: Listeners | undefined;
}

/** The address that the options ask for. Nothing is bound yet. */
export function planAddress(options: ListenOptions): ServerAddress {
  const { port = readPort(), host = defaultHost, grpcPort, tls } = options;
  const scheme = tls === undefined ? "http" : "https";
  return {
    host,
    port,
    grpcPort,
    listeners: undefined,
    address() {
      const { listeners } = this;
      const origin = `${scheme}://${hostInUrl(host)}:${listeners?.port ?? port}`;
      return { origin, grpcPort: listeners === undefined ? grpcPort : listeners.grpcPort };
    },
  };
}

/** Handlers of a port: for requests, and for its opening and closing. */
export interface PortHandlers {
  readonly directory: Pick<Directory, "endpoint" | "explainMissing" | "at" | "versions" | "hasNames">;
  /** Has the agents' own ports for gRPC. */
  readonly registry: Pick<AgentRegistry<ComposedAgent>, "setServing" | "retire">;
  readonly bindings: readonly Binding[];
  readonly limits: Limits;
  /** Books what the peers of HTTP/2 do not take. */
  readonly unsent: OpenUnsent;
  readonly logger: Logger;
  readonly tls: TlsOptions | undefined;
  /** Refuses calls over gRPC by their headers. */
  readonly guard: HostGuard | undefined;
  readonly load: Load | undefined;
  watchStore(listener: (readiness: boolean) => void): void;
  /** Resolves when no call is active. */
  idle(): Promise<void>;
  /** Refuses new work. */
  refuse(): void;
  /** Ends everything that is served. */
  end(drainMs: number): Promise<void>;
}

/** Listens, and serves until the port is closed. */
export async function listenWith(
  options: BaseServerOptions & ListenOptions,
  serverAddress: ServerAddress,
  handlers: PortHandlers,
): Promise<ListeningPort> {
  const { drainMs = defaultDrainMs, lameDuckMs = 0, basePath = "", clock = systemClock } = options;
  const { directory, registry, limits, unsent, logger, guard, tls } = handlers;
  const signals = options.handleSignals === true ? await import("./end-signals.js") : undefined;
  const readiness = createReadiness();
  handlers.watchStore(readiness.setStoreReady);
  handlers.load?.watch(readiness.setLoadReady);
  const { host, port: requestedPort, grpcPort: requestedGrpcPort } = serverAddress;
  const listeners = await openListeners({
    host,
    port: requestedPort,
    grpcPort: requestedGrpcPort,
    tls,
    limits,
    unsent,
    logger,
    reflection: options.reflection,
    bindings: handlers.bindings,
    at: directory.at,
    versions: directory.versions,
    grows: directory.hasNames,
    refuse: guard && ((header) => guard.grpc({ header })?.error),
    http: createHttp(options, handlers, readiness),
  });
  serverAddress.listeners = listeners;
  readiness.watch((serving) => {
    listeners.engine?.setServing(serving);
    registry.setServing(serving);
  });
  const stopLoading = loadWhenIdle(listeners.load, handlers.idle);
  const retire = async (ms: number): Promise<void> => {
    await Promise.all([listeners.retire(ms), registry.retire(ms)]);
  };
  const shutDown = async (): Promise<void> => {
    stopLoading();
    readiness.drain();
    if (lameDuckMs > 0) {
      // Balancers need time to notice, and then the peers of open connections: work that was sent before is accepted.
      await pause(clock, lameDuckMs);
      await retire(lastRequestsMs);
    }
    handlers.refuse();
    void retire(0);
    // The port stays open meanwhile: new calls get `unavailable` with a retry delay, and readiness checks are answered.
    await Promise.all([handlers.end(drainMs), lameDuckMs > 0 ? pause(clock, lastRefusalsMs) : undefined]);
    await listeners.drain(lastWordsMs);
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown().finally(() => stopHandlingSignals());
    return closing;
  };
  const stopHandlingSignals = signals?.closeOnSignals(close, logger) ?? noop;
  const { port, grpcPort = port } = listeners;
  const url = serverAddress.address().origin + basePath;
  return { url, port, grpcPort, close, [Symbol.asyncDispose]: close };
}

/**
 * Loads code that the next calls may need, when no call is under way. Earlier calls load it themselves. Does not keep the
 * process alive. Returns a function that stops it.
 */
function loadWhenIdle(load: () => Promise<void>, idle: () => Promise<void>): () => void {
  let isStopped = false;
  const run = async (): Promise<void> => {
    await pause(systemClock, loadPauseMs);
    await within(systemClock, loadPatienceMs, idle());
    if (!isStopped) await load();
  };
  void run();
  return () => {
    isStopped = true;
  };
}

function createHttp(
  { app, trustProxy = false, clock }: BaseServerOptions & ListenOptions,
  handlers: PortHandlers,
  readiness: Readiness,
): RequestListener {
  const trusts = createPeerCheck(trustProxy);
  const { directory, limits, logger } = handlers;
  const times = { ...limits, clock };
  const onError = (error: unknown): void => logger.error({ err: error }, "a request could not be answered");
  const protocol = nodeListener(directory.endpoint, { times, onError });
  const fallback = createFallback({
    app,
    readiness,
    logger,
    ignoresForwarded: ({ headers, socket }) =>
      (headers["x-forwarded-for"] ?? headers.forwarded) !== undefined && !trusts(socket.remoteAddress ?? ""),
    explainMissing: (req, res) => {
      const target = splitTarget(req.url ?? "/");
      return directory.explainMissing(new NodeRequest(req, res, { ...target, mountPath: "", times, native: req }));
    },
  });
  return (request, response) =>
    protocol(request, response, () => {
      sendContinue(request);
      fallback(request as IncomingMessage, response as ServerResponse);
    });
}

function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIP(host) === 6 ? `[${host}]` : host;
}

// Hosting platforms set this variable; it applies when the program sets no port.
function readPort(): number {
  const { PORT } = process.env;
  if (PORT === undefined || PORT === "") return defaultPort;
  const port = Number(PORT);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new TypeError(`PORT in the environment must be a port from 0 to 65535, not "${PORT}"`);
}
