/** Initial size of the memory, and how much of it is kept for the next message. */
const initialBytes = 16 * 1024;
const keptMaxBytes = 1024 * 1024;

/** Bytes appended to memory that the next message reuses. */
export class Output {
  bytes = memory(initialBytes);
  at = 0;
  #view = createView(this.bytes);
  #plainBytes = viewPlainBytes(this.bytes);

  /** Makes room for this many more bytes. */
  reserve(count: number): void {
    const size = this.at + count;
    if (size > this.bytes.length) this.#grow(size);
  }

  #grow(size: number): void {
    const { bytes } = this;
    this.#use(memory(Math.max(size, 2 * bytes.length)));
    bytes.copy(this.bytes, 0, 0, this.at);
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#view = createView(bytes);
    this.#plainBytes = viewPlainBytes(bytes);
  }

  /** An integer from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(8);
    if (value < 0x80) this.bytes[this.at++] = value;
    else this.at = putVarint(this.bytes, this.at, value);
  }

  double(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  /** Bytes prefixed by their length. */
  data(data: Uint8Array): void {
    this.varint(data.length);
    this.raw(data);
  }

  raw(data: Uint8Array): void {
    this.reserve(data.length);
    this.bytes.set(data, this.at);
    this.at += data.length;
  }

  /** UTF-8 text prefixed by its length. Lone surrogates become U+FFFD. */
  string(text: string): void {
    const { length } = text;
    const lengthBytes = varintBytes(length);
    // A character takes at most three bytes. They are counted only when that many might not fit.
    if (this.at + lengthBytes + 3 * length > this.bytes.length) this.reserve(lengthBytes + Buffer.byteLength(text));
    const start = this.open(lengthBytes);
    this.at += this.bytes.write(text, start);
    this.close(start, lengthBytes);
  }

  /** Reserves space for a length that probably takes this many bytes. Returns where the content starts. */
  open(lengthBytes: number): number {
    this.reserve(lengthBytes);
    this.at += lengthBytes;
    return this.at;
  }

  /** Writes the length of what follows `open`, moving it if the length takes another number of bytes. */
  close(start: number, lengthBytes: number): number {
    const length = this.at - start;
    const actual = varintBytes(length);
    if (actual !== lengthBytes) this.#shift(start, actual - lengthBytes);
    putVarint(this.bytes, start - lengthBytes, length);
    return actual;
  }

  #shift(start: number, by: number): void {
    this.reserve(Math.max(by, 0));
    this.bytes.copyWithin(start + by, start, this.at);
    this.at += by;
  }

  /** The written bytes in new memory. */
  copy(): Uint8Array<ArrayBuffer> {
    return this.#plainBytes.slice(0, this.at);
  }

  /** The written bytes as a `Buffer`, in Node's pool if it is small. */
  pooledCopy(): Buffer<ArrayBuffer> {
    const copy = Buffer.allocUnsafe(this.at);
    this.bytes.copy(copy, 0, 0, this.at);
    return copy;
  }

  /** Starts over, releasing the memory of one large message. */
  reset(): void {
    this.at = 0;
    if (this.bytes.length > keptMaxBytes) this.#use(memory(initialBytes));
  }
}

function memory(size: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(size));
}

function createView({ buffer }: Buffer<ArrayBuffer>): DataView {
  return new DataView(buffer);
}

/** `slice` of a `Buffer` would also be a `Buffer`. */
function viewPlainBytes({ buffer }: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}

function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  // Bitwise operators work on 32 bits.
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
