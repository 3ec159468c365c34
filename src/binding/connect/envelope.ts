import { replyTooLarge } from "../../protocol/codec/reply-too-large.js";
import { concat } from "../concat.js";

// The framing of Connect streams and gRPC-Web: each message follows one byte of flags and four bytes of length.

export interface Envelope {
  /** 0 for an uncompressed message. */
  readonly flags: number;
  readonly data: Uint8Array;
}

const headBytes = 5;

/** Frames one message. */
export function encodeEnvelope(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(headBytes + data.length);
  new DataView(bytes.buffer).setUint32(1, data.length);
  bytes.set(data, headBytes);
  return bytes;
}

/** Splits incoming pieces into envelopes. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #neededBytes: number = headBytes;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Yields the envelopes that this piece completes; the caller must consume all of them. Throws `contentTooLarge` as
   * soon as the head of an envelope declares more than the limit.
   */
  *read(piece: Uint8Array): Generator<Envelope, void, undefined> {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#neededBytes) return;
    let rest = concat(this.#pieces, this.#bytes);
    for (;;) {
      this.#neededBytes = this.#readSize(rest);
      if (rest.length < this.#neededBytes) break;
      yield { flags: rest[0] ?? 0, data: rest.subarray(headBytes, this.#neededBytes) };
      rest = rest.subarray(this.#neededBytes);
    }
    this.#pieces = [rest];
    this.#bytes = rest.length;
  }

  #readSize(bytes: Uint8Array): number {
    if (bytes.length < headBytes) return headBytes;
    const length = new DataView(bytes.buffer, bytes.byteOffset, headBytes).getUint32(1);
    if (length > this.#maxBytes) {
      throw replyTooLarge(`a message of the agent is over the limit of ${this.#maxBytes} bytes (replyMaxBytes)`);
    }
    return headBytes + length;
  }
}
