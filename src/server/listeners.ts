import type { TlsOptions } from "node:tls";
import type { RequestListener } from "../binding/listen/connection.js";
import { createLazyEngine, type LazyEngine } from "../binding/listen/lazy-engine.js";
import { createListener, type Listener } from "../binding/listen/listener.js";
import type { OpenUnsent } from "../binding/listen/unsent.js";
import type { AddressedService } from "../binding/service.js";
import type { Binding } from "../protocol/bindings.js";
import type { Logger } from "../protocol/logger.js";
import { type ConnectionEngine, createEngine, type EngineSetting, upgradedProtocols } from "./bindings.js";
import { loadKoa } from "./koa/fallback.js";
import type { Limits } from "./limits.js";

/**
 * Whether a bundler has moved this code to another file. Then a server loads its packages before it listens, so that
 * a bundle that lacks something fails at once. A wrong answer costs startup time, or lets it fail later.
 */
const isBundled = !/\/dist\/chunks\/[\w-]+\.js$|\/src\/server\/listeners\.ts$/.test(String(import.meta.url));

/** Options that all ports of a server share. */
export interface PortOptions {
  readonly host: string;
  readonly tls: TlsOptions | undefined;
  readonly limits: Limits;
  /** Books what the peers of HTTP/2 do not take. */
  readonly unsent: OpenUnsent;
  readonly logger: Logger;
  /** Whether to serve gRPC reflection. Default: true. */
  readonly reflection?: boolean | undefined;
}

export interface ListenersOptions extends PortOptions, EngineSetting {
  readonly port: number;
  readonly grpcPort: number | undefined;
  readonly bindings: readonly Binding[];
  readonly http: RequestListener;
}

/** The ports of a server. */
export interface Listeners {
  readonly port: number;
  /** Port of gRPC if it has its own. */
  readonly grpcPort: number | undefined;
  readonly engine: ConnectionEngine | undefined;
  /** Loads what accepts HTTP/2, which the first such connection does otherwise. */
  load(): Promise<void>;
  /** Ends every connection after its last response; see `Listener`. */
  retire(ms: number): Promise<void>;
  drain(ms: number): Promise<void>;
}

/** Listens on the ports. Rejects when one is taken. */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
  const { host, port, grpcPort, tls, limits, unsent, logger, bindings, http } = options;
  const base = { host, tls, limits, unsent, upgrades: upgradedProtocols() };
  try {
    if (isBundled) await loadKoa();
    const engine = createEngine(bindings, options);
    if (engine === undefined) return joinListeners([await createListener({ ...base, port, http })], undefined);
    const http2 = await engineLater(engine, grpcPort === undefined ? http : undefined, logger);
    const main = await createListener({ ...base, port, http, ...(grpcPort === undefined ? { http2 } : {}) });
    if (grpcPort === undefined) return joinListeners([main], engine, http2.load);
    try {
      return joinListeners([main, await createListener({ ...base, port: grpcPort, http2 })], engine, http2.load);
    } catch (error) {
      await main.close();
      throw error;
    }
  } catch (error) {
    throw portTaken(error, port, host);
  }
}

/**
 * The engine, whose code the first HTTP/2 connection loads if nothing has before. In a bundle it is loaded now; rejects
 * if that fails.
 */
async function engineLater(
  engine: ConnectionEngine,
  http: RequestListener | undefined,
  logger: Logger,
): Promise<LazyEngine> {
  const faults: unknown[] = [];
  const onError = (error: unknown): void => {
    if (isBundled) faults.push(error);
    else logger.error({ err: error }, "the code of gRPC could not be loaded");
  };
  const later = createLazyEngine(() => engine.connect(http), onError);
  if (isBundled) await later.load();
  if (faults.length > 0) throw faults[0];
  return later;
}

function joinListeners(
  [main, grpc]: readonly [Listener, Listener?],
  engine: ConnectionEngine | undefined,
  load: () => Promise<void> = async () => {},
): Listeners {
  return {
    port: main.port,
    grpcPort: grpc?.port,
    engine,
    load,
    async retire(ms) {
      await Promise.all([main.retire(ms), grpc?.retire(ms)]);
    },
    async drain(ms) {
      await Promise.all([main.drain(ms), grpc?.drain(ms)]);
    },
  };
}

/** A port on which gRPC reaches one agent. */
export interface GrpcPort {
  /** The port that was asked for; 0 for any. */
  readonly requestedPort: number;
  readonly port: number;
  /** Reaches another agent from now on. */
  serve(current: AddressedService): void;
  setServing(serving: boolean): void;
  retire(ms: number): Promise<void>;
  drain(ms: number): Promise<void>;
}

/** Opens a port on which gRPC reaches one agent. Rejects when it is taken. */
export async function openGrpcPort(
  requestedPort: number,
  destination: AddressedService,
  { host, tls, limits, unsent, logger, reflection }: PortOptions,
): Promise<GrpcPort> {
  let current = destination;
  const engine = createEngine(["GRPC"], {
    limits,
    unsent,
    logger,
    reflection,
    refuse: undefined,
    versions: destination.versions,
    at: () => current,
  });
  if (engine === undefined) throw new TypeError("grpcPort: no version that the agent serves has gRPC");
  const http2 = await engineLater(engine, undefined, logger);
  const listener = await createListener({ host, tls, limits, port: requestedPort, http2 }).catch((error: unknown) => {
    throw portTaken(error, requestedPort, host);
  });
  return {
    requestedPort,
    port: listener.port,
    serve(next) {
      current = next;
      engine.register(next.versions);
    },
    setServing: (serving) => engine.setServing(serving),
    retire: (ms) => listener.retire(ms),
    drain: (ms) => listener.drain(ms),
  };
}

function portTaken(error: unknown, port: number, host: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE") return error;
  return new Error(`port ${port} on ${host} is taken: choose another one with \`port\``, { cause: error });
}
