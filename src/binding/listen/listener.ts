import { createServer as createTcpServer, type Server as NetServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from "node:tls";
import { defaultListenerLimits, type ListenerLimits, type RequestListener } from "./connection.js";
import { createHttp1Engine, refuseHttp } from "./http1-engine.js";
import { createHttp2Engine, type Http2Engine } from "./http2-engine.js";
import { createSniffer, type HttpProtocol } from "./sniff.js";

export interface ListenerOptions {
  readonly port: number;
  readonly host?: string | undefined;
  /** Key, certificate and the like; TLS 1.2 at least. Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** Default: HTTP/1.1 is refused, for a port of gRPC alone. */
  readonly http?: RequestListener | undefined;
  /** Default: HTTP/2 requests go to `http`. */
  readonly http2?: Http2Engine | undefined;
  readonly limits?: Partial<ListenerLimits> | undefined;
}

/** A port with all of its protocols. */
export interface Listener {
  readonly port: number;
  readonly address: string;
  /** Tells every connection to go behind its last answer. New ones are accepted all the same: they hear why not. */
  retire(): void;
  /**
   * Accepts nothing more, closes every connection gracefully, and waits up to `ms` until they have gone; what is left then is
   * destroyed.
   */
  drain(ms: number): Promise<void>;
  /** Destroys every connection at once. */
  close(): Promise<void>;
}

/** Listens on one port for HTTP/1.1 and HTTP/2, plain or in TLS; the first bytes of a connection decide. */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const limits = { ...defaultListenerLimits, ...options.limits };
  const http1 = createHttp1Engine(options.http ?? refuseHttp, limits);
  const http2 = options.http2 ?? createHttp2Engine(options.http ?? refuseHttp, limits);
  const hand = (socket: Socket, protocol: HttpProtocol): void => {
    if (protocol === "http1") {
      http1.accept(socket);
      return;
    }
    // An HTTP/2 connection whose peer has ended is over, while an HTTP/1.1 one still waits for its reply.
    socket.allowHalfOpen = false;
    http2.accept(socket);
  };
  const sniffer = createSniffer(limits.headerTimeoutMs, hand);
  const server =
    options.tls === undefined
      ? createTcpServer(socketOptions, sniffer.take)
      : createTls(options.tls, limits.headerTimeoutMs, hand);
  const sockets = keepSockets(server);
  const { port, address } = await listening(server, options).catch((error: unknown) => {
    http1.close();
    throw error;
  });

  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    ended ??= new Promise((resolve) => server.close(() => resolve()));
    return ended;
  };
  const close = async (): Promise<void> => {
    const done = stop();
    for (const socket of sockets) socket.destroy();
    http1.close();
    http2.close();
    await done;
  };
  const retire = (): void => {
    http1.drain();
    http2.drain();
  };
  const drain = async (ms: number): Promise<void> => {
    const done = stop();
    sniffer.drain();
    retire();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, ms);
    await Promise.race([done, late.promise]);
    clearTimeout(timer);
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
  const server = createTlsServer({
    minVersion: "TLSv1.2",
    handshakeTimeout,
    ...socketOptions,
    ...tls,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  // Without ALPN a TLS client cannot mean HTTP/2 (RFC 9113, 3.2).
  server.on("secureConnection", (socket) => hand(socket, socket.alpnProtocol === "h2" ? "http2" : "http1"));
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

function keepSockets(server: NetServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  return sockets;
}

function listening(server: NetServer, { port, host }: ListenerOptions): Promise<{ port: number; address: string }> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, () => {
      server.off("error", reject);
      const bound = server.address();
      if (bound === null || typeof bound === "string") throw new TypeError("the listener has no port");
      resolve(bound);
    });
  });
}
