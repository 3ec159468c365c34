import { createServer } from "node:http2";
import type { ReadHeader } from "../../protocol/context.js";
import type { A2AError } from "../../protocol/errors.js";
import { findHeader } from "../http/node-request.js";
import type { ListenerLimits, RequestListener } from "../listen/connection.js";
import { onCheckContinue } from "../listen/continue.js";
import { refuseHttp1 } from "../listen/http1-engine.js";
import type { Http2Engine } from "../listen/http2-engine.js";
import { keepAlive } from "../listen/keepalive.js";
import { keepSessions } from "../listen/sessions.js";
import type { OpenUnsent } from "../listen/unsent.js";
import type { GrpcServer } from "./server.js";

// How gRPC and HTTP share a connection. This is the only file that knows.
//
// One HTTP/2 server gets the connections that the port has accepted, within the limits and with the graceful end of all
// HTTP/2 connections (`listen/sessions.ts`). A POST with a content type of gRPC is a call (`server.ts`), any other stream
// becomes a request of HTTP.

export interface GrpcEngineOptions {
  readonly grpc: GrpcServer;
  /** Handles the streams that are not gRPC. Default: they are refused. */
  readonly http?: RequestListener | undefined;
  readonly limits: ListenerLimits;
  /** Books what peers do not take. Default: it is not booked. */
  readonly unsent?: OpenUnsent | undefined;
  /** Returns the error that refuses a call by its headers, before anything else of it is checked. Default: no call is refused. */
  readonly refuse?: ((header: ReadHeader) => A2AError | undefined) | undefined;
}

/** Creates an HTTP/2 engine for gRPC and HTTP. The content type of each stream decides. */
export function createGrpcEngine(options: GrpcEngineOptions): Http2Engine {
  const { grpc, http = refuseHttp1, limits, unsent, refuse } = options;
  const server = createServer(unlimited);
  // This server never listens: it turns the streams passed to it into requests and responses.
  const requests = createServer(http).on("checkContinue", onCheckContinue(http));
  server.on("stream", (stream, headers, flags, rawHeaders) => {
    if (headers[":method"] !== "POST" || !isGrpc(headers["content-type"]))
      requests.emit("stream", stream, headers, flags, rawHeaders);
    else
      grpc.serve(
        { stream, headers, rawHeaders },
        refuse?.((name) => findHeader(headers, name)),
      );
  });
  const sessions = keepSessions(server, limits, unsent);
  server.on("session", (session) => keepAlive(session, limits));
  return {
    accept: (socket) => sessions.accept(socket, (connection) => server.emit("connection", connection)),
    retire: sessions.retire,
    close: () => {
      server.close();
    },
  };
}

/** What large messages need. Their bytes are booked elsewhere. */
const unlimited = { maxSendHeaderBlockLength: Number.MAX_SAFE_INTEGER, maxSessionMemory: Number.MAX_SAFE_INTEGER };

/** Whether a content type is gRPC. gRPC-Web counts as HTTP. */
function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:[+;]|$)/.test(contentType);
}
