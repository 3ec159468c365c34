import type { A2AError } from "../../protocol/errors.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { defaultListenerLimits, type ListenerLimits } from "../listen/connection.js";
import type { AddressedService, Service } from "../service.js";
import { GrpcCall } from "./call.js";
import { errorToStatus } from "./errors.js";
import { createHealth } from "./health.js";
import { groupByPath } from "./method.js";
import { OwnCall, type OwnMethods } from "./own-services.js";
import type { OpenedStream } from "./stream.js";
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
  /** Limits of request messages. Default: the listener's. */
  readonly limits?: ListenerLimits | undefined;
}

/** A gRPC server: A2A in every served version, health and reflection. It does not listen by itself. */
export interface GrpcServer {
  /** Serves a stream whose content type is gRPC, or refuses it. */
  serve(stream: OpenedStream, refusal?: A2AError): void;
  /** Adds the operations of further adapters. */
  register(adapters: readonly GrpcAdapter[]): void;
  /** Sets the status of health checks: SERVING or NOT_SERVING. */
  setServing(serving: boolean): void;
}

/** Creates a server with every operation of every adapter. Callers are authenticated before a message is read. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { service, at, reflection = true, limits = defaultListenerLimits } = options;
  const callOptions = {
    at,
    findTarget: createTargets(),
    times: limits,
    maxBytes: service.limits.contentMaxBytes,
  };
  const paths = new Set<string>();
  const register = (adapters: readonly GrpcAdapter[]): void => {
    for (const path of groupByPath(adapters).keys()) paths.add(path);
  };
  register(options.adapters);
  const health = createHealth(options.adapters.map(({ service }) => service.typeName));
  // Few servers are called for these: their code is loaded by the first call.
  const loadHealth = loadOnce(health.load);
  const loadReflection = loadOnce(async () => (await import("./reflection.js")).createReflection(options.adapters, at));
  const loadOwn = (path: string): Promise<OwnMethods> | undefined => {
    if (path.startsWith("/grpc.health.v1.")) return loadHealth();
    return reflection && path.startsWith("/grpc.reflection.") ? loadReflection() : undefined;
  };
  return {
    register,
    setServing: health.setServing,
    serve: (opened, refusal) => {
      const path = opened.headers[":path"] ?? "";
      if (refusal !== undefined) new OwnCall(opened).end(errorToStatus(refusal));
      else if (paths.has(path)) new GrpcCall(opened, callOptions).begin();
      else void new OwnCall(opened).serve(loadOwn(path));
    },
  };
}

function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}
