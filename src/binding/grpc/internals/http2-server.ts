import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type ConnectionInjector, type Server, ServerCredentials } from "@grpc/grpc-js";
import { parseTimeout, unlimitedMs } from "../../deadline.js";

// gRPC and HTTP share a port: grpc-js gets sockets that are already accepted, and its streams are inspected before it
// sees them. It owns the HTTP/2 server and has no public hook before its handlers. So its private set-up method is
// wrapped, once, on the one server created here. Tried with grpc-js 1.14.7, in which the injector is experimental. It
// saves a port, not time: without it gRPC needs its own port, or a proxy that reads HTTP/2.
const setupName = "_setupHandlers";

/**
 * Feeds grpc-js with connections accepted elsewhere. `http2` is the server that receives their streams, `undefined` if
 * grpc-js hides it.
 */
export interface InjectionPort {
  readonly injector: ConnectionInjector;
  readonly http2: Http2Server | undefined;
}

export function injectConnections(server: Server): InjectionPort {
  let http2: Http2Server | undefined;
  const setup: unknown = Reflect.get(server, setupName);
  if (typeof setup === "function") {
    Reflect.set(server, setupName, (http2Server: Http2Server, ...rest: unknown[]) => {
      Reflect.apply(setup, server, [http2Server, ...rest]);
      http2 = http2Server;
    });
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return { injector, http2 };
}

type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => void;

/** Puts a listener in front of those of grpc-js. Its first parameter passes a stream on to them. */
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

/**
 * Whether a timeout is 2³¹ ms (about 25 days) or more, which counts as none. It overflows the 32 bits of grpc-js, which
 * would treat it as expired.
 */
export function isUnlimited(timeout: string | string[] | undefined): boolean {
  if (typeof timeout !== "string") return false;
  return (parseTimeout(timeout) ?? 0) >= unlimitedMs;
}
