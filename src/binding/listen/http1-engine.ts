import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { timerMs } from "../../protocol/async/clock.js";
import { createIdleCounter } from "../../protocol/async/idle-counter.js";
import { within } from "../../protocol/async/pause.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import type { ListenerLimits, RequestListener } from "./connection.js";
import { watchAge } from "./connection-age.js";
import { onCheckContinue } from "./continue.js";
import { repeat } from "./repeat.js";

/** Serves the HTTP/1.1 connections of a listener. */
export interface Http1Engine {
  accept(socket: Socket): void;
  /**
   * Closes each connection after its next response, and idle ones once `ms` have passed. Resolves then, or when none is
   * open. May be called again.
   */
  retire(ms: number): Promise<void>;
  close(): void;
}

/**
 * A request to upgrade to one of `upgrades`, lower-case, comes with its connection, which `http` may take over. Once
 * there are any, Node before 22.21 takes every request to upgrade for one of them, and reads no body of it.
 *
 * When `openMax` connections are open, new ones close those that are idle, which take about 10 KB each. Finding them means
 * walking over all, so the server does it once for an eighth of their number of new connections.
 */
export function createHttp1Engine(
  http: RequestListener,
  limits: ListenerLimits,
  upgrades: readonly string[] = [],
  openMax = 10_000,
): Http1Engine {
  let draining = false;
  const agedSockets = new WeakSet<Socket>();
  const connections = createIdleCounter();
  let stopSweeping: (() => void) | undefined;
  let acceptsToWalk = 0;
  const closeIdle = (): void => {
    acceptsToWalk -= 1;
    if (acceptsToWalk > 0) return;
    acceptsToWalk = connections.count / 8;
    server.closeIdleConnections();
  };
  // An `import` of node:http reads each of its exports, also those that load all of Node's `fetch`.
  const { createServer, ServerResponse } = process.getBuiltinModule("node:http");
  const answer: RequestListener = (request, response) => {
    if (draining || agedSockets.has(request.socket)) response.setHeader("connection", "close");
    http(request, response);
  };
  const server: Server = createServer(
    {
      maxHeaderSize: limits.headerMaxBytes,
      headersTimeout: timerMs(limits.headerTimeoutMs),
      requestTimeout: timerMs(limits.headerTimeoutMs + limits.bodyTimeoutMs),
      // Node adds a second to this timeout.
      keepAliveTimeout: timerMs(limits.keepAliveIdleMs + 1000) - 1000,
      connectionsCheckingInterval: Math.min(1_000, limits.headerTimeoutMs),
      shouldUpgradeCallback: ({ headers }) => upgrades.includes(headers.upgrade?.toLowerCase() ?? ""),
    },
    answer,
  );
  server.on("checkContinue", onCheckContinue(answer));
  // Node has let go of the connection, so it is closed here after a reply, which refuses the upgrade.
  const upgrade = (request: IncomingMessage, _socket: Duplex, head: Buffer): void => {
    const { socket } = request;
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.shouldKeepAlive = false;
    response.on("finish", () => socket.destroySoon());
    socket.unshift(head);
    answer(request, response);
  };
  if (upgrades.length > 0) server.on("upgrade", upgrade);
  // The server never listens itself, and its timeouts start with this event.
  server.emit("listening");
  return {
    accept: (socket) => {
      if (connections.count >= openMax) closeIdle();
      connections.begin();
      socket.on("close", connections.end);
      watchAge(socket, limits, () => agedSockets.add(socket));
      server.emit("connection", socket);
    },
    retire: async (ms) => {
      draining = true;
      if (ms > 0) await within(systemClock, ms, connections.idle());
      server.closeIdleConnections();
      // A response whose headers were already sent leaves its connection idle later.
      stopSweeping ??= repeat(systemClock, 25, () => server.closeIdleConnections());
    },
    close: () => {
      stopSweeping?.();
      server.close();
    },
  };
}

/** The listener of a port without HTTP/1.1. */
export const refuseHttp1: RequestListener = (request, response) => {
  response.statusCode = 505;
  if (request.httpVersionMajor === 1) response.setHeader("connection", "close");
  response.end();
};
