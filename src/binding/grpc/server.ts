import { Server } from "@grpc/grpc-js";
import type { GrpcAdapter } from "../../version/codec.js";
import type { Service } from "../service.js";
import { GrpcCall } from "./call.js";
import { createHealth } from "./health.js";
import { leaveCall, registerTaken, takeCall } from "./internals/taken-call.js";
import { servedPaths } from "./method.js";
import { addReflection } from "./reflection.js";

export interface GrpcServerOptions {
  readonly adapters: readonly GrpcAdapter[];
  readonly service: Service;
  /** How long a request message may take to arrive, in milliseconds. Default: 30,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** Largest number of calls at once on one connection. Default: 100. */
  readonly streamsPerConnection?: number | undefined;
}

/** The gRPC server end: A2A in every version served, health and reflection. It listens to nothing by itself. */
export interface GrpcServer {
  /** The grpc-js server behind it, with our operations registered. */
  readonly server: Server;
  /**
   * Loads the service that a path names, when it is one of those that are loaded at their first call (health and
   * reflection). `undefined` when there is nothing to wait for.
   */
  prepare(path: string): Promise<void> | undefined;
  /** Loads them all. */
  prepareAll(): Promise<void>;
  /** What health checks answer from now on: SERVING or NOT_SERVING. */
  setServing(serving: boolean): void;
}

/** Registers every operation of every adapter. The caller is authenticated before a message is read. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const paths = servedPaths(options.adapters, options.service);
  const { service, bodyTimeoutMs = 30_000 } = options;
  const server = new Server({
    // Pings find out about peers that vanished without a word; a stream that waits for events would never notice.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.max_concurrent_streams": options.streamsPerConnection ?? 100,
    "grpc.max_receive_message_length": service.limits.contentMaxBytes,
    "grpc.enable_channelz": 0,
    interceptors: [
      ({ path }, call) => {
        const served = paths.get(path);
        if (served === undefined) return leaveCall(call);
        return takeCall(call, (raw) => new GrpcCall(raw, { served, service, bodyTimeoutMs }));
      },
    ],
  });
  for (const path of paths.keys()) registerTaken(server, path);
  const health = createHealth(options.adapters.map(({ service }) => service.typeName));
  const onDemand = new Map([
    ["grpc.health.v1", once(() => health.addTo(server))],
    ["grpc.reflection.", once(() => addReflection(server, options.adapters))],
  ]);
  return {
    server,
    setServing: health.setServing,
    prepare: (path) => {
      // Every call comes here, and no service of an agent has this prefix.
      if (!path.startsWith("/grpc.")) return undefined;
      for (const [name, load] of onDemand) if (path.startsWith(name, 1)) return load();
      return undefined;
    },
    prepareAll: async () => {
      await Promise.all([...onDemand.values()].map((load) => load()));
    },
  };
}

function once(load: () => Promise<void>): () => Promise<void> {
  let loaded: Promise<void> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}
