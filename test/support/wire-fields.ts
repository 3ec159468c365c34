// Fields of binary messages, written by hand.

/** One field of a message, with its tag and length. */
export function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  const length: number[] = [];
  let bytesLeft = bytes.length;
  for (; bytesLeft > 127; bytesLeft >>>= 7) length.push((bytesLeft & 127) | 128);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, bytesLeft]), bytes]);
}

/** The same bytes many times. */
export const times = (count: number, bytes: Uint8Array): Buffer => Buffer.concat(Array<Uint8Array>(count).fill(bytes));

export const nothing = Buffer.alloc(0);

/** A member of the metadata of a message: `true` under a key. */
export const entry = (key: string): Buffer =>
  field(1, Buffer.concat([field(1, key), field(2, Buffer.from([0x20, 1]))]));

/** The metadata of a message, with 5,000 members. */
export const metadata = field(6, Buffer.concat(Array.from({ length: 5000 }, (_, index) => entry(`k${index}`))));
