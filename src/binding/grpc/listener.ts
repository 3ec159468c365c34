import type { IncomingHttpHeaders } from "node:http";
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { ReadHeader } from "../../protocol/context.js";
import { type A2AError, errorTable } from "../../protocol/errors.js";
import type { Logger } from "../../protocol/logger.js";
import { findHeader } from "../http/node-request.js";
import type { ListenerLimits, RequestListener } from "../listen/connection.js";
import { onCheckContinue } from "../listen/continue.js";
import { refuseHttp1 } from "../listen/http1-engine.js";
import type { Http2Engine } from "../listen/http2-engine.js";
import { keepSessions } from "../listen/sessions.js";
import type { OpenUnsent } from "../listen/unsent.js";
import { listHeaderValues } from "../one-credential.js";
import { injectConnections, isUnlimited, takeStreams } from "./internals/http2-server.js";
import type { GrpcServer } from "./server.js";

// How gRPC and HTTP share a connection. This is the only file that knows.
//
// grpc-js owns the HTTP/2 server. It gets the connections that the port has accepted, within the limits and with the
// graceful end of all HTTP/2 connections (`listen/sessions.ts`). Each stream comes here before grpc-js sees it: a POST with
// a content type of gRPC goes on to grpc-js and so to `call.ts`, any other stream becomes a request of HTTP. On the way, a
// gRPC stream may be refused by its headers, what grpc-js would misread in them is mended, and a service that loads on its
// first call is loaded.

export interface GrpcEngineOptions {
  readonly grpc: GrpcServer;
  /** Handles the streams that are not gRPC. Default: they are refused. */
  readonly http?: RequestListener | undefined;
  readonly limits: ListenerLimits;
  /** Books what peers do not take. Default: it is not booked. */
  readonly unsent?: OpenUnsent | undefined;
  readonly logger: Logger;
  /** Returns the error that refuses a call by its headers, before grpc-js sees it. Default: no call is refused. */
  readonly refuse?: ((header: ReadHeader) => A2AError | undefined) | undefined;
}

/** Creates an HTTP/2 engine for gRPC and HTTP. The content type of each stream decides. */
export async function createGrpcEngine(options: GrpcEngineOptions): Promise<Http2Engine> {
  const { grpc, limits, logger, unsent } = options;
  const { injector, http2 } = injectConnections(grpc.server);
  if (http2 === undefined) {
    logger.warn({}, "this release of grpc-js hides its HTTP/2 server: HTTP/2 connections are for gRPC only");
    await grpc.prepareAll();
    const retire = async (): Promise<void> => injector.drain(2 ** 31 - 1);
    return { accept: injector.injectConnection, retire, close: injector.destroy };
  }
  const sessions = keepSessions(http2, limits, unsent);
  shareStreams(http2, options);
  return {
    accept: (socket) => sessions.accept(socket, injector.injectConnection),
    retire: sessions.retire,
    close: () => {
      injector.destroy();
      grpc.server.forceShutdown();
    },
  };
}

/** Routes gRPC streams to grpc-js and all others to HTTP. */
function shareStreams(server: Http2Server, { grpc, http = refuseHttp1, refuse }: GrpcEngineOptions): void {
  // This server never listens: it turns the streams passed to it into requests and responses.
  const requests = createServer(http).on("checkContinue", onCheckContinue(http));
  takeStreams(server, (serveGrpc, stream, headers, ...rest) => {
    if (headers[":method"] !== "POST" || !isGrpc(headers["content-type"])) {
      requests.emit("stream", stream, headers, ...rest);
      return;
    }
    stream.on("finish", endRequest);
    const refusal = refuse?.((name) => findHeader(headers, name));
    if (refusal !== undefined) return refuseCall(stream, refusal);
    if (isUnlimited(headers["grpc-timeout"])) delete headers["grpc-timeout"];
    keepCredentials(headers, rest[1]);
    const loading = grpc.prepare(headers[":path"] ?? "");
    if (loading === undefined) return serveGrpc(stream, headers, ...rest);
    loading.then(
      () => serveGrpc(stream, headers, ...rest),
      () => stream.close(),
    );
  });
}

/** Passes every line of a credential header to grpc-js. Node keeps only the first. */
function keepCredentials(headers: IncomingHttpHeaders, rawHeaders: unknown): void {
  if (headers.authorization === undefined || !Array.isArray(rawHeaders)) return;
  const lines = listHeaderValues(rawHeaders, "authorization");
  if (lines.length > 1) Object.assign(headers, { authorization: lines });
}

/**
 * Node calls this when the response is sent. Ends a request that its peer has not ended (RFC 9113, 8.1); otherwise the
 * stream would stay open, with what has arrived of the message.
 */
function endRequest(this: ServerHttp2Stream): void {
  if (!this.readableEnded) this.close(constants.NGHTTP2_NO_ERROR);
}

/** Refuses a call with a trailers-only response. */
function refuseCall(stream: ServerHttp2Stream, { code, message }: A2AError): void {
  const trailers = { "grpc-status": errorTable[code].grpc, "grpc-message": encodeURIComponent(message) };
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...trailers }, { endStream: true });
}

/** Whether a content type is gRPC. gRPC-Web counts as HTTP. */
function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:[+;]|$)/.test(contentType);
}
