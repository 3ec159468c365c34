import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { over } from "../../protocol/async/steps.js";
import { type ServerCall, smallReplyBytes } from "../server-call.js";
import type { HttpReply } from "./http.js";

/** A call whose reply is booked until its peer has taken it. */
export interface BookingCall {
  /** Books bytes. Throws `unavailable` or `resourceExhausted`. */
  hold(bytes: number): void;
  /** A piece of the reply is ready for the socket. */
  countReply(piece: string | Uint8Array): void;
  /** Releases bytes that were booked. */
  release(bytes: number): void;
  /** The reply was taken, or the peer left. */
  end(): void;
}

/** The pieces of a reply. The large ones are booked until the socket has taken them, and the call ends after the last. */
export class BookedPieces implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #call: BookingCall;
  readonly #isBookedAhead: boolean;
  /** The booked bytes of the piece that the socket has. */
  #bookedBytes = 0;

  /** `isBookedAhead`: the pieces are booked already, until all of them are taken. */
  constructor(pieces: AsyncIterable<Uint8Array>, call: BookingCall, isBookedAhead = false) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#call = call;
    this.#isBookedAhead = isBookedAhead;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // Called when the socket has taken the piece before.
  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#call.release(this.#bookedBytes);
    this.#bookedBytes = 0;
    try {
      const piece = await this.#pieces.next();
      if (piece.done === true) this.#call.end();
      else {
        if (!this.#isBookedAhead && piece.value.length > smallReplyBytes) this.#hold(piece.value.length);
        this.#call.countReply(piece.value);
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
    this.#call.hold(bytes);
    this.#bookedBytes = bytes;
  }
}

const encoder = new TextEncoder();

/** A reply without its body. */
type ReplyHead = Omit<HttpReply, "body">;

/**
 * Books a large reply until its peer has taken it; then the call ends. Returns a small reply unchanged. Throws
 * `unavailable` or `resourceExhausted` when there is no room.
 */
export function bookReply(call: BookingCall, reply: ReplyHead & { readonly body: string | Uint8Array }): HttpReply {
  const { body } = reply;
  if (body.length <= smallReplyBytes) {
    call.countReply(body);
    return reply;
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  call.hold(bytes.length);
  return bookPieces(call, reply, [bytes]);
}

/**
 * Encodes a large reply as large work, a piece at a time, and books it until its peer has taken it; then the call ends.
 * Rejects with `unavailable` or `resourceExhausted` when there is no room for it.
 */
export async function encodeReply(call: WorkingCall, head: ReplyHead, source: LargeReply): Promise<HttpReply> {
  return bookPieces(call, head, await call.work(encodeTexts(call, source)));
}

interface WorkingCall extends BookingCall, Pick<ServerCall, "reserve" | "work"> {}

interface LargeReply {
  readonly reply: AnyMessage;
  /** Its text, in pieces that are made when they are asked for. */
  readonly texts: Iterable<string>;
}

/** Encodes texts in pieces of at least `smallReplyBytes`. Books an estimate first, then corrects it. */
function* encodeTexts(call: WorkingCall, { reply, texts }: LargeReply): Generator<undefined, Uint8Array[]> {
  let reserved = call.reserve(reply);
  yield;
  const pieces: Uint8Array[] = [];
  let text = "";
  const encode = (): void => {
    const bytes = encoder.encode(text);
    reserved -= bytes.length;
    if (reserved < 0) {
      call.hold(-reserved);
      reserved = 0;
    }
    pieces.push(bytes);
    text = "";
  };
  for (const each of texts) {
    text += each;
    if (text.length < smallReplyBytes) continue;
    encode();
    yield;
  }
  if (text !== "") encode();
  call.release(reserved);
  return pieces;
}

function bookPieces(call: BookingCall, { status, headers }: ReplyHead, pieces: Uint8Array[]): HttpReply {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const body = new BookedPieces(takeEach(pieces), call, true);
  return { status, headers: { ...headers, "Content-Length": String(length) }, body };
}

/** Yields each piece and drops it, so that its memory can be freed. */
async function* takeEach(pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece;
}
