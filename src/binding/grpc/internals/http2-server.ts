import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type ConnectionInjector, type Server, ServerCredentials } from "@grpc/grpc-js";

// gRPC and HTTP share a port: grpc-js is given sockets that have been accepted already, and its streams are looked at before
// it sees them. It owns the HTTP/2 server and has no public hook before its handlers, so its private set-up method is
// wrapped, once, on the one server that we made. Tried with grpc-js 1.14.7, in which the injector is experimental.
// It saves no time but a port: without it gRPC needs one of its own, or a proxy that reads HTTP/2.
const setupName = "_setupHandlers";

/** Connections that were accepted elsewhere. `http2`: what takes their streams; `undefined` when grpc-js hides it. */
export interface Injected {
  readonly injector: ConnectionInjector;
  readonly http2: Http2Server | undefined;
}

export function injectConnections(server: Server): Injected {
  let http2: Http2Server | undefined;
  const setup: unknown = Reflect.get(server, setupName);
  if (typeof setup === "function") {
    Reflect.set(server, setupName, (made: Http2Server, ...rest: unknown[]) => {
      Reflect.apply(setup, server, [made, ...rest]);
      http2 = made;
    });
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return { injector, http2 };
}

type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => void;

/** Puts a listener before those of grpc-js, which it calls by its first parameter. */
export function takeStreams(
  server: Http2Server,
  listener: (serveGrpc: StreamListener, ...stream: Parameters<StreamListener>) => void,
): void {
  const theirs = server.listeners("stream") as StreamListener[];
  const serveGrpc: StreamListener = (...stream) => {
    for (const each of theirs) Reflect.apply(each, server, stream);
  };
  server.removeAllListeners("stream");
  server.on("stream", (...stream) => listener(serveGrpc, ...stream));
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000 };

/** A time limit of weeks is none; grpc-js counts in 32 bits and would take it for one that has passed. */
export function isEndless(timeout: string | string[] | undefined): boolean {
  if (typeof timeout !== "string") return false;
  const unit = unitMs[timeout.at(-1) ?? ""];
  return unit !== undefined && Number.parseInt(timeout, 10) * unit >= 2 ** 31;
}
