import { Server } from "@grpc/grpc-js";
import { timerMs } from "../../protocol/async/clock.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { defaultListenerLimits, type ListenerLimits } from "../listen/connection.js";
import type { AddressedService, Service } from "../service.js";
import { GrpcCall } from "./call.js";
import { createHealth } from "./health.js";
import { leaveCall, registerTaken, takeCall } from "./internals/taken-call.js";
import { groupByPath } from "./method.js";
import { addReflection } from "./reflection.js";
import { createTargets } from "./target.js";

// gRPC (spec 10): the server of grpc-js, which frames the messages and knows HTTP/2.
//
// Its interceptor takes every call of an A2A path out of the hands of grpc-js and gives it to a `GrpcCall` (`call.ts`),
// which runs the pipeline of calls. Paths are registered once: versions that share one are told apart when the head of a
// call is known (`method.ts`), and so are the agents of the port (`target.ts`). Calls of other paths are those of health
// and reflection, which grpc-js handles itself, and whose code is loaded with their first call.

export interface GrpcServerOptions {
  readonly adapters: readonly GrpcAdapter[];
  /** Its limits hold for all calls. */
  readonly service: Pick<Service, "limits">;
  /** Finds the service at an authority (`host:port`). */
  readonly at: (authority: string) => AddressedService;
  /** Whether to serve gRPC reflection. Default: true. */
  readonly reflection?: boolean | undefined;
  /** Limits of connections and of request messages. Default: the listener's. */
  readonly limits?: ListenerLimits | undefined;
}

/** A gRPC server: A2A in every served version, health and reflection. It does not listen by itself. */
export interface GrpcServer {
  /** The underlying grpc-js server, with all operations registered. */
  readonly server: Server;
  /**
   * Loads the service at `path` if it is one that loads on its first call (health or reflection). Returns `undefined`
   * for all others.
   */
  prepare(path: string): Promise<void> | undefined;
  /** Loads health and reflection. */
  prepareAll(): Promise<void>;
  /** Adds the operations of further adapters. */
  register(adapters: readonly GrpcAdapter[]): void;
  /** Sets the status of health checks: SERVING or NOT_SERVING. */
  setServing(serving: boolean): void;
}

/** Creates a server with every operation of every adapter. Callers are authenticated before a message is read. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { service, at, reflection = true, limits = defaultListenerLimits } = options;
  const findTarget = createTargets();
  const paths = new Set<string>();
  const server = new Server({
    // Pings detect peers that vanished; a stream that waits for events would never notice.
    "grpc.keepalive_time_ms": timerMs(limits.grpcKeepaliveMs),
    "grpc.keepalive_timeout_ms": timerMs(limits.grpcKeepaliveTimeoutMs),
    "grpc.max_concurrent_streams": limits.streamsPerConnection,
    "grpc.max_receive_message_length": service.limits.contentMaxBytes,
    "grpc.enable_channelz": 0,
    interceptors: [
      ({ path }, call) => {
        if (!paths.has(path)) return leaveCall(call);
        return takeCall(call, (raw) => new GrpcCall(raw, { path, at, findTarget, times: limits }));
      },
    ],
  });
  const register = (adapters: readonly GrpcAdapter[]): void => {
    for (const path of groupByPath(adapters).keys()) {
      if (!paths.has(path)) registerTaken(server, path);
      paths.add(path);
    }
  };
  register(options.adapters);
  const health = createHealth(options.adapters.map(({ service }) => service.typeName));
  const onDemand = new Map([["grpc.health.v1", loadOnce(() => health.addTo(server))]]);
  if (reflection)
    onDemand.set(
      "grpc.reflection.",
      loadOnce(() => addReflection(server, options.adapters, at)),
    );
  return {
    server,
    register,
    setServing: health.setServing,
    prepare: (path) => {
      // Runs for every call, so check first for the prefix, which no agent's service has.
      if (!path.startsWith("/grpc.")) return undefined;
      for (const [name, load] of onDemand) if (path.startsWith(name, 1)) return load();
      return undefined;
    },
    prepareAll: async () => {
      await Promise.all([...onDemand.values()].map((load) => load()));
    },
  };
}

function loadOnce(load: () => Promise<void>): () => Promise<void> {
  let loading: Promise<void> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}
