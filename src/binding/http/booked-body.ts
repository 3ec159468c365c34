import { over } from "../../protocol/async/steps.js";
import { smallReplyBytes } from "../server-call.js";
import type { HttpReply } from "./http.js";

/** A call whose reply is booked until its peer has taken it. */
export interface BookingCall {
  /** Books bytes. Throws `unavailable` or `resourceExhausted`. */
  hold(bytes: number): void;
  /** A piece of the reply is ready for the socket. */
  sent(piece: string | Uint8Array): void;
  /** Releases bytes that were booked. */
  release(bytes: number): void;
  /** The reply was taken, or the peer left. */
  end(): void;
}

/** The pieces of a reply. The large ones are booked until the socket has taken them, and the call ends after the last. */
export class BookedPieces implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #call: BookingCall;
  /** What is booked of the piece that the socket was given, and of the next one already. */
  #booked = 0;
  #bookedAhead: number;

  constructor(pieces: AsyncIterable<Uint8Array>, call: BookingCall, bookedAhead = 0) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#call = call;
    this.#bookedAhead = bookedAhead;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // Called when the socket has taken the piece before.
  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#call.release(this.#booked);
    this.#booked = 0;
    try {
      const piece = await this.#pieces.next();
      if (piece.done === true) this.#call.end();
      else {
        if (piece.value.length > smallReplyBytes) this.#hold(piece.value.length);
        this.#call.sent(piece.value);
      }
      return piece;
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#call.end();
    await this.#pieces.return?.();
    return over;
  }

  #hold(bytes: number): void {
    if (this.#bookedAhead === 0) this.#call.hold(bytes);
    this.#bookedAhead = 0;
    this.#booked = bytes;
  }
}

const encoder = new TextEncoder();

/**
 * Makes pieces of the body of a reply that is large, so that it counts until its peer has taken it; then the call ends.
 * Throws `unavailable` or `resourceExhausted` when there is no room for it.
 */
export function bookReply(call: BookingCall, reply: HttpReply & { readonly body: string | Uint8Array }): HttpReply {
  const { headers, body } = reply;
  if (body.length <= smallReplyBytes) {
    call.sent(body);
    return reply;
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  call.hold(bytes.length);
  const length = { "Content-Length": String(bytes.length) };
  return { ...reply, headers: { ...headers, ...length }, body: new BookedPieces(onePiece(bytes), call, bytes.length) };
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
