import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { ListenerLimits, RequestListener } from "./connection.js";

/** Serves the HTTP/1.1 connections of a listener. */
export interface Http1Engine {
  accept(socket: Socket): void;
  /** Closes idle connections now and the others after their next response. May be called again. */
  drain(): void;
  close(): void;
}

export function createHttp1Engine(http: RequestListener, limits: ListenerLimits): Http1Engine {
  let draining = false;
  let sweep: NodeJS.Timeout | undefined;
  // An `import` of node:http reads each of its exports, also those that load all of Node's `fetch`.
  const { createServer } = process.getBuiltinModule("node:http");
  const server: Server = createServer(
    {
      maxHeaderSize: limits.headerMaxBytes,
      headersTimeout: limits.headerTimeoutMs,
      requestTimeout: limits.headerTimeoutMs + limits.bodyTimeoutMs,
      keepAliveTimeout: limits.keepAliveIdleMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headerTimeoutMs),
    },
    (request, response) => {
      if (draining) response.setHeader("connection", "close");
      http(request, response);
    },
  );
  // The server never listens itself, and its timeouts start with this event.
  server.emit("listening");
  return {
    accept: (socket) => {
      server.emit("connection", socket);
    },
    drain: () => {
      draining = true;
      server.closeIdleConnections();
      // A response whose headers were already sent leaves its connection idle later.
      sweep ??= setInterval(() => server.closeIdleConnections(), 25).unref();
    },
    close: () => {
      clearInterval(sweep);
      server.close();
    },
  };
}

/** The listener of a port without HTTP/1.1. */
export const refuseHttp: RequestListener = (request, response) => {
  response.statusCode = 505;
  if (request.httpVersionMajor === 1) response.setHeader("connection", "close");
  response.end();
};
