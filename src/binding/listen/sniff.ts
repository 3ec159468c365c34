import type { Socket } from "node:net";
import { monotonic } from "../../protocol/async/clock.js";
import { systemClock } from "../../protocol/async/system-clock.js";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export type HttpProtocol = "http1" | "http2";

/** Detects the protocol of a connection from its first bytes. */
export interface Sniffer {
  take(socket: Socket): void;
  /** Closes the connections that have sent nothing. New ones get a moment: their first request is often on its way. */
  drain(): void;
}

/**
 * How long the first bytes of a connection may take to arrive while the port closes. A busy proxy connects, and writes its
 * request a moment later; it counts as sent, so a proxy that loses the connection cannot repeat the request.
 */
const firstBytesMs = 500;

/**
 * Calls `onProtocol` with each socket once its protocol is known: HTTP/2 by its preface, else HTTP/1.1. Puts the read
 * bytes back. Closes a connection that ends first or does not decide within `timeoutMs`.
 */
export function createSniffer(
  timeoutMs: number,
  onProtocol: (socket: Socket, protocol: HttpProtocol) => void,
): Sniffer {
  const acceptTimes = new Map<Socket, number>();
  return {
    take: (socket) => {
      acceptTimes.set(socket, monotonic(systemClock));
      sniff(socket, timeoutMs, (protocol) => {
        acceptTimes.delete(socket);
        if (protocol !== undefined) onProtocol(socket, protocol);
      });
    },
    drain: () => {
      // Bytes may have arrived that a busy process has not read yet: two rounds of the event loop read them.
      const close = (socket: Socket): unknown =>
        setImmediate(() => setImmediate(() => acceptTimes.has(socket) && socket.destroy()));
      for (const [socket, acceptTime] of acceptTimes) {
        systemClock.after(Math.max(0, acceptTime + firstBytesMs - monotonic(systemClock)), () => close(socket));
      }
    },
  };
}

/** Calls `onProtocol` once, without a protocol if the socket has closed. */
function sniff(socket: Socket, timeoutMs: number, onProtocol: (protocol?: HttpProtocol) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const giveUp = (): void => {
    socket.destroy();
  };
  const cancel = systemClock.after(timeoutMs, giveUp);
  const finish = (protocol?: HttpProtocol): void => {
    cancel();
    socket.off("readable", detect).off("end", giveUp).off("close", onClose);
    onProtocol(protocol);
  };
  const onClose = (): void => finish();
  function detect(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    bytes = Buffer.concat([bytes, chunk]);
    const protocol = detectProtocol(bytes);
    if (protocol === undefined) return;
    socket.unshift(bytes);
    finish(protocol);
  }
  socket.on("readable", detect).on("end", giveUp).on("close", onClose);
}

/** Returns `undefined` while the bytes are only a beginning of the preface. */
function detectProtocol(bytes: Buffer): HttpProtocol | undefined {
  const length = Math.min(bytes.length, preface.length);
  if (bytes.compare(preface, 0, length, 0, length) !== 0) return "http1";
  return length === preface.length ? "http2" : undefined;
}
