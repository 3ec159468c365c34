/** What writing begins with, and how much of it is kept for the next message. */
const freshBytes = 16 * 1024;
const keptMaxBytes = 1024 * 1024;
/** Up to here a text is written character by character: a call of Node's costs more. */
const loopMaxLength = 12;

/** Bytes that are written to the end of memory, which the next message uses again. */
export class Output {
  bytes = memory(freshBytes);
  at = 0;
  #view = viewOf(this.bytes);
  #plain = plainOf(this.bytes);

  /** Makes room for so many bytes more. */
  room(count: number): void {
    const wanted = this.at + count;
    if (wanted > this.bytes.length) this.#grow(wanted);
  }

  #grow(wanted: number): void {
    const { bytes } = this;
    this.#use(memory(Math.max(wanted, 2 * bytes.length)));
    bytes.copy(this.bytes, 0, 0, this.at);
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
    this.#plain = plainOf(bytes);
  }

  /** A whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.room(8);
    if (value < 0x80) this.bytes[this.at++] = value;
    else this.at = putVarint(this.bytes, this.at, value);
  }

  double(value: number): void {
    this.room(8);
    this.#view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  /** Bytes behind their length. */
  data(data: Uint8Array): void {
    this.varint(data.length);
    this.raw(data);
  }

  raw(data: Uint8Array): void {
    this.room(data.length);
    this.bytes.set(data, this.at);
    this.at += data.length;
  }

  /** A text in UTF-8 behind its length. Halves of surrogate pairs become U+FFFD. */
  string(text: string): void {
    if (text.length > loopMaxLength || !this.#ascii(text)) this.#utf8(text);
  }

  /** False for what is no ASCII; then nothing is written. */
  #ascii(text: string): boolean {
    const { length } = text;
    this.room(1 + length);
    const { bytes, at } = this;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[at + 1 + index] = code;
    }
    bytes[at] = length;
    this.at = at + 1 + length;
    return true;
  }

  #utf8(text: string): void {
    const { length } = text;
    const lengthBytes = varintBytes(length);
    // A character takes three bytes at most. They are counted only when so many might not fit.
    if (this.at + lengthBytes + 3 * length > this.bytes.length) this.room(lengthBytes + Buffer.byteLength(text));
    const start = this.open(lengthBytes);
    this.at += this.bytes.write(text, start);
    this.close(start, lengthBytes);
  }

  /** Leaves place for a length, which is likely to take so many bytes. Gives where that begins whose length it is. */
  open(lengthBytes: number): number {
    this.room(lengthBytes);
    this.at += lengthBytes;
    return this.at;
  }

  /** Puts the length before what was written since `open`, and moves that when the length takes other than was left. */
  close(start: number, lengthBytes: number): number {
    const length = this.at - start;
    const wanted = varintBytes(length);
    if (wanted !== lengthBytes) this.#shift(start, wanted - lengthBytes);
    putVarint(this.bytes, start - lengthBytes, length);
    return wanted;
  }

  #shift(start: number, by: number): void {
    this.room(Math.max(by, 0));
    this.bytes.copyWithin(start + by, start, this.at);
    this.at += by;
  }

  /** What was written, in memory of its own. */
  copy(): Uint8Array<ArrayBuffer> {
    return this.#plain.slice(0, this.at);
  }

  /** What was written, as a `Buffer` in Node's pool when it is small. */
  pooledCopy(): Buffer<ArrayBuffer> {
    const copy = Buffer.allocUnsafe(this.at);
    this.bytes.copy(copy, 0, 0, this.at);
    return copy;
  }

  /** Begins anew, without memory that one large message needed. */
  reset(): void {
    this.at = 0;
    if (this.bytes.length > keptMaxBytes) this.#use(memory(freshBytes));
  }
}

function memory(size: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(size));
}

function viewOf({ buffer }: Buffer<ArrayBuffer>): DataView {
  return new DataView(buffer);
}

/** `slice` of a `Buffer` would be one too. */
function plainOf({ buffer }: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}

function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  // Bitwise operators know 32 bits.
  for (; rest > 0x7f_ff_ff_ff; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}

function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}
