import { base64FromBytes, bytesFromBase64 } from "../../../protocol/base64.js";
import type { FileBytes } from "../../options.js";
import type { WireFile } from "./model.js";

// Peers of 0.3 disagree on file bytes: some send the raw content, most its base64 text. The form is inferred from what
// a peer sends.

/**
 * Returns the form of files that one sender wrote together. One file that cannot be base64 text proves that none of
 * them is. Returns `undefined` if no file has bytes.
 */
export function detectBytesForm(files: readonly WireFile[]): FileBytes | undefined {
  const withBytes = files.filter(({ file }) => file.case === "fileWithBytes" && file.value.length > 0);
  if (withBytes.length === 0) return undefined;
  return withBytes.every((file) => decodeText(file) !== undefined) ? "base64" : "raw";
}

/** Returns the content of a file, decoded from a form. */
export function readBytes(file: WireFile, form: FileBytes): Uint8Array {
  const bytes = file.file.case === "fileWithBytes" ? file.file.value : new Uint8Array(0);
  return form === "raw" ? bytes : (decodeText(file) ?? bytes);
}

/** Encodes content in a form. */
export function writeBytes(content: Uint8Array, form: FileBytes): Uint8Array {
  return form === "raw" ? content : new TextEncoder().encode(base64FromBytes(content));
}

/** Decodes bytes that are base64 text. Returns `undefined` if they are not, or are more likely plain text. */
function decodeText({ file, mimeType }: WireFile): Uint8Array | undefined {
  if (file.case !== "fileWithBytes" || !isBase64Text(file.value)) return undefined;
  const content = bytesFromBase64(new TextDecoder().decode(file.value));
  if (content === undefined) return undefined;
  // A four-letter word is valid base64 too. If it decodes to bytes that are not text although the file's type is text,
  // it is a word.
  const isWord = file.value.length <= wordMaxLength && isTextType(mimeType) && !isText(content);
  return isWord ? undefined : content;
}

/**
 * Maximum length of such a word, in bytes. Longer files without whitespace are base64, even if their content is not
 * UTF-8.
 */
const wordMaxLength = 64;

const equalsSign = 0x3d;

/** Whether all bytes are standard, padded base64. */
function isBase64Text(bytes: Uint8Array): boolean {
  const { length } = bytes;
  if (length === 0 || length % 4 !== 0) return false;
  let end = length;
  while (end > length - 2 && bytes[end - 1] === equalsSign) end--;
  for (let at = 0; at < end; at++) if (alphabet[bytes[at] ?? 0] !== 1) return false;
  return true;
}

const alphabet = new Uint8Array(256);
for (const payload of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  alphabet[payload.charCodeAt(0)] = 1;

function isTextType(mimeType: string): boolean {
  return /^\s*(?:text\/|application\/(?:[^;]+\+)?(?:json|xml|yaml|javascript)\s*(?:;|$))/i.test(mimeType);
}

function isText(content: Uint8Array): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return !/[^\P{Cc}\t\n\f\r]/u.test(text);
  } catch {
    return false;
  }
}
