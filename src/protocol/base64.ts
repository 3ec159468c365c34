const wellFormed = /^[A-Za-z0-9+/_-]*={0,2}$/;
const whiteSpace = /[ \t\r\n]+/g;

// Node's Buffer is many times faster than a loop in JavaScript. Browsers and workers have none, but `atob`, which takes
// 1 kB less than the codec of protobuf-es. Accessed through the global object, so that no bundler adds a polyfill.
const { Buffer: nodeBuffer }: { readonly Buffer?: typeof Buffer } = globalThis;

/**
 * Decodes the standard and the URL-safe alphabet, padded or not (spec 6.5). Ignores white space, since MIME breaks
 * base64 into lines. Returns `undefined` for malformed text.
 */
export function bytesFromBase64(given: string): Uint8Array | undefined {
  let text = given;
  if (!wellFormed.test(text)) {
    text = text.replace(whiteSpace, "");
    if (!wellFormed.test(text)) return undefined;
  }
  const padding = Number(text.endsWith("=")) + Number(text.endsWith("=="));
  if ((text.length - padding) % 4 === 1 || (padding > 0 && text.length % 4 !== 0)) return undefined;
  if (nodeBuffer === undefined) return bytesFromBinary(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
  const buffer = nodeBuffer.from(text, "base64");
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}

/** Encodes with the standard alphabet and padding. */
export function base64FromBytes(bytes: Uint8Array): string {
  if (nodeBuffer === undefined) return btoa(binaryFromBytes(bytes));
  return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function bytesFromBinary(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

// A call takes only so many arguments.
const pieceLength = 8192;

function binaryFromBytes(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += pieceLength) {
    text += String.fromCharCode(...bytes.subarray(start, start + pieceLength));
  }
  return text;
}
