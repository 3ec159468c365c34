import { createGrpcTransport, type GrpcTransport } from "../../src/binding/grpc/client.js";
import { createGrpcEngine } from "../../src/binding/grpc/listener.js";
import { createGrpcServer, type GrpcServer } from "../../src/binding/grpc/server.js";
import type { RequestListener } from "../../src/binding/listen/connection.js";
import { defaultListenerLimits, type ListenerLimits } from "../../src/binding/listen/connection.js";
import { createListener, type Listener, type ListenerOptions } from "../../src/binding/listen/listener.js";
import type { Service } from "../../src/binding/service.js";
import type { Version } from "../../src/version/codec.js";
import { v1 } from "../../src/version/v1.0/v1.js";

export interface GrpcAgent {
  readonly port: number;
  readonly address: string;
  readonly grpc: GrpcServer;
  readonly listener: Listener;
  readonly client: GrpcTransport;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface GrpcAgentOptions {
  readonly http?: RequestListener;
  readonly limits?: Partial<ListenerLimits>;
  readonly tls?: ListenerOptions["tls"];
  /** The served versions, newest first. Default: 1.0. */
  readonly versions?: readonly Version[];
}

/** The gRPC adapter of 1.0. */
export const adapter = v1.grpc ?? throwMissing();

/** Serves a service over gRPC on its own port, with a connected client. */
export async function grpcAgent(service: Service, options: GrpcAgentOptions = {}): Promise<GrpcAgent> {
  const limits = { ...defaultListenerLimits, ...options.limits };
  const { versions = [v1] } = options;
  const adapterOptions = { service, versions };
  const adapters = versions.flatMap((version) => version.grpc ?? []);
  const grpc = createGrpcServer({ adapters, service, at: () => adapterOptions, limits });
  const http2 = createGrpcEngine({ grpc, http: options.http, limits });
  const { http, tls } = options;
  const listener = await createListener({ host: "127.0.0.1", port: 0, http, http2, limits, tls });
  const address = `127.0.0.1:${listener.port}`;
  const client = createGrpcTransport({ address, adapter });
  return {
    port: listener.port,
    address,
    grpc,
    listener,
    client,
    [Symbol.asyncDispose]: async () => {
      client.close();
      await listener.close();
    },
  };
}

function throwMissing(): never {
  throw new TypeError("1.0 has no gRPC");
}
