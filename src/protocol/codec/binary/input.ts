/** Thrown when the fast path does not apply. */
export const unsupportedInput = new Error("left to fromBinary");
/** Deeper messages are left to fromBinary, which knows the applicable limit. */
export const maxDepth = 64;

/** Bytes read from the front. */
export class Input {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw unsupportedInput;
    return byte;
  }

  /** An unsigned varint of 32 bits. */
  varint(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    byte = this.byte();
    if (byte > 0x0f) throw unsupportedInput;
    return (value | (byte << 28)) >>> 0;
  }

  /** A varint that is an integer below 2^49. */
  long(): bigint {
    let value = 0;
    for (let factor = 1; factor < 2 ** 49; factor *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(value);
    }
    throw unsupportedInput;
  }

  double(): number {
    this.at += 8;
    if (this.at > this.bytes.length) throw unsupportedInput;
    return this.bytes.readDoubleLE(this.at - 8);
  }

  /** Reads a length and returns the end of its field. */
  end(): number {
    const end = this.varint() + this.at;
    if (end > this.bytes.length) throw unsupportedInput;
    return end;
  }

  string(): string {
    const end = this.end();
    const start = this.at;
    this.at = end;
    return decode(this.bytes, start, end);
  }

  plainBytes(): Uint8Array {
    const end = this.end();
    const start = this.at;
    this.at = end;
    return plainView(this.bytes, start, end);
  }
}

function decode(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  // Possibly the replacement for bytes that are not UTF-8.
  if (text.includes("\ufffd")) throw unsupportedInput;
  return text;
}

/** A plain view of the same memory, so that a message never exposes a `Buffer`. */
export function plainView(buffer: Buffer, start: number, end: number): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset + start, end - start);
}
