import { writeSync } from "node:fs";
import type { Socket } from "node:net";
import { isObject } from "../../protocol/kinds.js";

// Node sends a GOAWAY only together with ignoring all later streams, and owns the socket of a session: a write beside
// its own ends the process once it has to wait. So the frame goes to the file descriptor, where it is written at once
// or not at all. Tried with Node 24.21. Without it, requests that are on their way at that moment are refused.

/** A GOAWAY without an error whose last stream is the highest there can be (RFC 9113, 6.8). */
const notice = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/**
 * Asks the peer of an HTTP/2 connection to open no more streams, while the session still accepts them. Returns false
 * where that is not possible: over TLS, while a write waits, and on platforms without file descriptors of sockets.
 */
export function sendShutdownNotice(socket: Socket): boolean {
  const handle: unknown = Reflect.get(socket, "_handle");
  if ("encrypted" in socket || !isObject(handle)) return false;
  const fd: unknown = Reflect.get(handle, "fd");
  // With nothing queued, what was written last is the end of a frame.
  if (typeof fd !== "number" || fd < 0 || Reflect.get(handle, "writeQueueSize") !== 0) return false;
  try {
    // Part of a frame would be a broken connection.
    if (writeSync(fd, notice) < notice.length) socket.destroy();
    return true;
  } catch {
    return false;
  }
}
