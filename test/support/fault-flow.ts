import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Ending, Flow } from "./fault-schedule.js";

/** The path of bytes from one socket to another. */
export interface Way {
  readonly from: Socket;
  readonly to: Socket;
  readonly flow: Flow;
  /** Called when bytes were passed on. */
  moved(): void;
  /** Called once, where the flow cuts the connection. */
  cut(how: Ending): void;
}

/** Forwards the bytes of one direction until it ends. Bytes after a cut are read and dropped. */
export async function carry(way: Way): Promise<"ended" | "broken"> {
  const course = new Course(way);
  try {
    for await (const chunk of way.from.iterator({ destroyOnReturn: false })) await course.pass(chunk);
    return "ended";
  } catch {
    return "broken";
  }
}

/** How far one direction has progressed. */
class Course {
  readonly #way: Way;
  #passed = 0;
  #isHeld: boolean;
  #isCut = false;

  constructor(way: Way) {
    this.#way = way;
    this.#isHeld = way.flow.hold !== undefined;
  }

  async pass(chunk: Buffer): Promise<void> {
    const { flow, to, moved } = this.#way;
    for (let rest = chunk; rest.length > 0; ) {
      await this.#atStop();
      if (this.#isCut) return;
      const piece = rest.subarray(0, this.#nextStop() - this.#passed);
      await write(to, piece);
      this.#passed += piece.length;
      rest = rest.subarray(piece.length);
      moved();
      if (flow.pieces !== undefined) await (flow.pieces.pause ?? breathe)();
    }
    // A cut after the last byte does not wait for another byte.
    this.#cutHere();
  }

  async #atStop(): Promise<void> {
    const { flow, to } = this.#way;
    const { hold } = flow;
    this.#cutHere();
    if (this.#isCut || !this.#isHeld || hold === undefined || this.#passed < hold.after) return;
    this.#isHeld = false;
    await Promise.race([hold.until(), ended(to)]);
  }

  #cutHere(): void {
    const { cut } = this.#way.flow;
    if (this.#isCut || cut === undefined || this.#passed < cut.after) return;
    this.#isCut = true;
    this.#way.cut(cut.how);
  }

  #nextStop(): number {
    const { cut, hold, pieces } = this.#way.flow;
    const every = pieces?.every ?? Number.POSITIVE_INFINITY;
    const stops = [cut?.after, hold?.after, ...(pieces?.at ?? []), this.#passed - (this.#passed % every) + every];
    return Math.min(...stops.filter((stop) => stop !== undefined && stop > this.#passed).map(Number));
  }
}

/** Resolves when a socket's peer has no more to send, perhaps because it is gone. */
function ended(socket: Socket): Promise<void> {
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
