import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Reads the first bytes of a connection to tell HTTP/2 (by its preface) from anything else, and puts them back.
 * A connection that does not say what it is in time is closed, and so is one that ends first.
 */
export function sniff(socket: Socket, timeoutMs: number, decided: (protocol: "http1" | "http2") => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const giveUp = (): void => {
    socket.destroy();
  };
  const timer = setTimeout(giveUp, timeoutMs);
  timer.unref();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("readable", look).off("end", giveUp).off("close", stop);
  };
  function look(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    socket.unshift(seen);
    decided(protocol);
  }
  socket.on("readable", look).on("end", giveUp).on("close", stop);
}

/** `undefined` as long as the bytes are a beginning of the preface and not all of it. */
function protocolOf(bytes: Buffer): "http1" | "http2" | undefined {
  const length = Math.min(bytes.length, preface.length);
  if (bytes.compare(preface, 0, length, 0, length) !== 0) return "http1";
  return length === preface.length ? "http2" : undefined;
}
