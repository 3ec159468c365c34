import { A2AError } from "../../protocol/errors.js";
import { concat } from "../concat.js";
import { bodyTooLarge } from "./body-error.js";

/** Whether bytes begin with the mark of gzip. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * Decompresses a body and calls `onPiece` with each piece. If that throws, it stops and rejects, so that a body beyond
 * a limit is never in memory as a whole. Rejects with `contentTooLarge` beyond `maxBytes`, and with `parseError` if the
 * body is not gzip.
 */
export async function gunzip(
  bytes: Uint8Array,
  maxBytes: number,
  onPiece: (piece: Uint8Array) => void,
): Promise<Uint8Array> {
  const { createGunzip } = process.getBuiltinModule("node:zlib");
  const stream = createGunzip();
  const result = Promise.withResolvers<Uint8Array>();
  const pieces: Uint8Array[] = [];
  let length = 0;
  stream.on("data", (piece: Uint8Array) => {
    try {
      length += piece.length;
      if (length > maxBytes) throw bodyTooLarge(maxBytes);
      onPiece(piece);
      pieces.push(piece);
    } catch (error) {
      result.reject(error);
      stream.destroy();
    }
  });
  stream.on("end", () => result.resolve(concat(pieces, length)));
  stream.on("error", (cause) => result.reject(new A2AError("parseError", "the body is not gzip", { cause })));
  stream.end(bytes);
  return result.promise;
}
