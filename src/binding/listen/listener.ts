import { createServer as createTcpServer, type Server as NetServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { TLSSocket, TlsOptions } from "node:tls";
import { callerClock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { withDefaults } from "../../protocol/defaults.js";
import { defaultListenerLimits, type ListenerLimits, type RequestListener } from "./connection.js";
import { createHttp1Engine, refuseHttp1 } from "./http1-engine.js";
import type { Http2Engine } from "./http2-engine.js";
import { createLazyEngine } from "./lazy-engine.js";
import { createSniffer, type HttpProtocol } from "./sniff.js";
import type { OpenUnsent } from "./unsent.js";

// The port: accepts sockets, finds out which protocol each of them speaks, and closes connections gracefully.
//
// A plain socket waits in the sniffer (`sniff.ts`) until its first bytes decide; over TLS, ALPN does. Then it belongs to
// one of two engines, which read requests from it: `http1-engine.ts`, or one for HTTP/2 that is loaded with its first
// connection (`lazy-engine.ts`). That one is gRPC's where gRPC shares the port (`grpc/listener.ts`), else
// `http2-engine.ts`; both keep their connections in `sessions.ts`.
//
// A port is open, retires, drains and is closed. Retiring ends each connection after its last response and still accepts
// new ones; a port may retire several times. Draining accepts none, retires, and closes what has sent nothing. Closing
// destroys what is left.
//
// Invariant: a graceful close loses no request in flight: each is answered or told that it was refused.
//
// Times of connections are measured by the machine's clock, since Node measures most of them. The injected clock measures
// what belongs to a call, such as the arrival of its body (`CallTimes`).

export interface ListenerOptions {
  readonly port: number;
  readonly host?: string | undefined;
  /** Key, certificate and other TLS options; TLS 1.2 or newer. Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** Default: HTTP/1.1 is refused, for a port that serves only gRPC. */
  readonly http?: RequestListener | undefined;
  /** Protocols, lower-case, to which `http` may upgrade a connection of HTTP/1.1. Default: none. */
  readonly upgrades?: readonly string[] | undefined;
  /** Default: HTTP/2 requests go to `http`. */
  readonly http2?: Http2Engine | undefined;
  readonly limits?: Partial<ListenerLimits> | undefined;
  /** Books what the peers of HTTP/2 do not take. Default: it is not booked. */
  readonly unsent?: OpenUnsent | undefined;
}

/** One port with all of its protocols. */
export interface Listener {
  readonly port: number;
  readonly address: string;
  /**
   * Ends every connection after its last response. Resolves when peers know, at most after `ms`; idle HTTP/1.1
   * connections, which get no notice, are closed then. New connections are still accepted.
   */
  retire(ms: number): Promise<void>;
  /** Accepts no more connections, closes the open ones gracefully, waits up to `ms`, then destroys the rest. */
  drain(ms: number): Promise<void>;
  /** Destroys every connection at once. */
  close(): Promise<void>;
}

/** Listens on one port for HTTP/1.1 and HTTP/2, plain or over TLS. The first bytes of a connection decide. */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const limits = withDefaults(defaultListenerLimits, options.limits);
  const http1 = createHttp1Engine(options.http ?? refuseHttp1, limits, options.upgrades);
  const plainHttp2 = async (): Promise<Http2Engine> =>
    (await import("./http2-engine.js")).createHttp2Engine(options.http ?? refuseHttp1, limits, options.unsent);
  const http2 = options.http2 ?? createLazyEngine(plainHttp2, noop);
  let closing: Promise<void> | undefined;
  const hand = (socket: Socket, protocol: HttpProtocol): void => {
    if (protocol === "http1") {
      http1.accept(socket);
      return;
    }
    // An HTTP/2 connection ends when its peer ends it, while an HTTP/1.1 connection still waits for its response.
    socket.allowHalfOpen = false;
    http2.accept(socket);
    // Its peer connected just before the port closed. The connection ends after its first request.
    if (closing !== undefined) void http2.retire(0);
  };
  const sniffer = createSniffer(limits.headerTimeoutMs, hand);
  const server =
    options.tls === undefined
      ? createTcpServer(socketOptions, sniffer.take)
      : createTls(options.tls, limits.headerTimeoutMs, hand);
  const sockets = keepSockets(server);
  const { port, address } = await listen(server, options).catch((error: unknown) => {
    http1.close();
    throw error;
  });

  const stop = (): Promise<void> => {
    closing ??= new Promise((resolve) => server.close(() => resolve()));
    return closing;
  };
  const close = async (): Promise<void> => {
    const stopping = stop();
    for (const socket of sockets) socket.destroy();
    http1.close();
    http2.close();
    await stopping;
  };
  const retire = async (ms: number): Promise<void> => {
    await Promise.all([http1.retire(ms), http2.retire(ms)]);
  };
  const drain = async (ms: number): Promise<void> => {
    // The kernel breaks the connections that it has accepted for a port that closes: they are taken first.
    await setImmediate();
    const stopping = stop();
    sniffer.drain();
    void Promise.all([http1.retire(0), http2.retire(ms / 2)]);
    await within(callerClock, ms, stopping);
    await close();
  };
  return { port, address, retire, drain, close };
}

const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

function createTls(
  tls: TlsOptions,
  handshakeTimeout: number,
  hand: (socket: TLSSocket, protocol: HttpProtocol) => void,
): NetServer {
  // An `import` of node:tls reads each of its exports, also all certificates of Node.
  const server = process.getBuiltinModule("node:tls").createServer({
    minVersion: "TLSv1.2",
    handshakeTimeout,
    ...socketOptions,
    // Otherwise the connection of a client that leaves during its handshake stays until the handshake is overdue.
    allowHalfOpen: false,
    ...tls,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  // A TLS client cannot use HTTP/2 without ALPN (RFC 9113, 3.2).
  server.on("secureConnection", (socket) => {
    // A client may come without a certificate, if the server only asks for one, but not with one that cannot be verified.
    if (tls.requestCert === true && !socket.authorized && socket.getPeerX509Certificate() !== undefined)
      socket.destroy();
    else {
      socket.allowHalfOpen = true;
      hand(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
    }
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

function keepSockets(server: NetServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  // One function for all sockets: there may be many that are idle.
  function forget(this: Socket): void {
    sockets.delete(this);
  }
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", destroySocket);
    socket.on("close", forget);
  });
  return sockets;
}

function destroySocket(this: Socket): void {
  this.destroy();
}

function listen(server: NetServer, { port, host }: ListenerOptions): Promise<{ port: number; address: string }> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, () => {
      server.off("error", reject);
      const address = server.address();
      if (address === null || typeof address === "string") throw new TypeError("the listener has no port");
      resolve(address);
    });
  });
}
