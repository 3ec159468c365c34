import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Ending, Flow } from "./fault-schedule.js";

/** The path of bytes from one socket to another. */
export interface Forwarding {
  readonly from: Socket;
  readonly to: Socket;
  readonly flow: Flow;
  /** Called when bytes were passed on. */
  onProgress(): void;
  /** Called once, where the flow cuts the connection. */
  cutConnection(how: Ending): void;
}

/** Forwards the bytes of one direction until it ends. Bytes after a cut are read and dropped. */
export async function carry(forwarding: Forwarding): Promise<"ended" | "broken"> {
  const progress = new ForwardingProgress(forwarding);
  try {
    for await (const chunk of forwarding.from.iterator({ destroyOnReturn: false })) await progress.pass(chunk);
    return "ended";
  } catch {
    return "broken";
  }
}

/** How far one direction has progressed. */
class ForwardingProgress {
  readonly #forwarding: Forwarding;
  #passedBytes = 0;
  #isHeld: boolean;
  #isCut = false;

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
    this.#isHeld = forwarding.flow.hold !== undefined;
  }

  async pass(chunk: Buffer): Promise<void> {
    const { flow, to, onProgress } = this.#forwarding;
    for (let remaining = chunk; remaining.length > 0; ) {
      await this.#waitAtStop();
      if (this.#isCut) return;
      const piece = remaining.subarray(0, this.#nextStop() - this.#passedBytes);
      await write(to, piece);
      this.#passedBytes += piece.length;
      remaining = remaining.subarray(piece.length);
      onProgress();
      if (flow.pieces !== undefined) await (flow.pieces.pause ?? breathe)();
    }
    // A cut after the last byte does not wait for another byte.
    this.#cutHere();
  }

  async #waitAtStop(): Promise<void> {
    const { flow, to } = this.#forwarding;
    const { hold } = flow;
    this.#cutHere();
    if (this.#isCut || !this.#isHeld || hold === undefined || this.#passedBytes < hold.after) return;
    this.#isHeld = false;
    await Promise.race([hold.until(), waitForEnd(to)]);
  }

  #cutHere(): void {
    const { cut } = this.#forwarding.flow;
    if (this.#isCut || cut === undefined || this.#passedBytes < cut.after) return;
    this.#isCut = true;
    this.#forwarding.cutConnection(cut.how);
  }

  #nextStop(): number {
    const { cut, hold, pieces } = this.#forwarding.flow;
    const every = pieces?.every ?? Number.POSITIVE_INFINITY;
    const stops = [
      cut?.after,
      hold?.after,
      ...(pieces?.at ?? []),
      this.#passedBytes - (this.#passedBytes % every) + every,
    ];
    return Math.min(...stops.filter((stop) => stop !== undefined && stop > this.#passedBytes).map(Number));
  }
}

/** Resolves when a socket's peer has no more to send, perhaps because it is gone. */
function waitForEnd(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readableEnded || socket.destroyed) resolve();
    else socket.once("end", resolve).once("close", () => resolve());
  });
}

/** Two turns of the event loop: enough for a peer in this process to see what was sent. */
async function breathe(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Resolves when the bytes are written, or when the socket is gone. */
function write(to: Socket, bytes: Buffer): Promise<void> {
  return to.writable ? new Promise((resolve) => to.write(bytes, () => resolve())) : Promise.resolve();
}
