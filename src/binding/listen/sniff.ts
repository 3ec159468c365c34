import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export type HttpProtocol = "http1" | "http2";

/** Tells by the first bytes of a connection what it speaks. */
export interface Sniffer {
  take(socket: Socket): void;
  /** Closes the connections that have not said anything yet. */
  drain(): void;
}

/**
 * Hands each socket on once it has told HTTP/2 (by its preface) from anything else, with its bytes put back. A
 * connection that does not say what it is in time is closed, and so is one that ends first.
 */
export function createSniffer(timeoutMs: number, decided: (socket: Socket, protocol: HttpProtocol) => void): Sniffer {
  const undecided = new Set<Socket>();
  return {
    take: (socket) => {
      undecided.add(socket);
      sniff(socket, timeoutMs, (protocol) => {
        undecided.delete(socket);
        if (protocol !== undefined) decided(socket, protocol);
      });
    },
    drain: () => {
      for (const socket of undecided) socket.destroy();
    },
  };
}

/** Calls back once; without a protocol when the socket has closed. */
function sniff(socket: Socket, timeoutMs: number, done: (protocol?: HttpProtocol) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const giveUp = (): void => {
    socket.destroy();
  };
  const timer = setTimeout(giveUp, timeoutMs);
  timer.unref();
  const finish = (protocol?: HttpProtocol): void => {
    clearTimeout(timer);
    socket.off("readable", look).off("end", giveUp).off("close", onClose);
    done(protocol);
  };
  const onClose = (): void => finish();
  function look(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    socket.unshift(seen);
    finish(protocol);
  }
  socket.on("readable", look).on("end", giveUp).on("close", onClose);
}

/** `undefined` as long as the bytes are a beginning of the preface and not all of it. */
function protocolOf(bytes: Buffer): HttpProtocol | undefined {
  const length = Math.min(bytes.length, preface.length);
  if (bytes.compare(preface, 0, length, 0, length) !== 0) return "http1";
  return length === preface.length ? "http2" : undefined;
}
