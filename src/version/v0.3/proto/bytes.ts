import { base64FromBytes, bytesFromBase64 } from "../../../protocol/base64.js";
import type { FileBytes } from "../../options.js";
import type { WireFile } from "./model.js";

// Peers of 0.3 disagree on the bytes of a file: some put its content into the field, most the base64 text of it. Which of
// the two a peer does is read off what it sends.

/**
 * The form of files that one sender wrote together: one that cannot be base64 text shows that none of them is.
 * `undefined`: there are no bytes to tell it by.
 */
export function bytesFormOf(files: readonly WireFile[]): FileBytes | undefined {
  const told = files.filter(({ file }) => file.case === "fileWithBytes" && file.value.length > 0);
  if (told.length === 0) return undefined;
  return told.every((file) => contentOfText(file) !== undefined) ? "base64" : "raw";
}

/** The content of a file in a form. */
export function readBytes(file: WireFile, form: FileBytes): Uint8Array {
  const bytes = file.file.case === "fileWithBytes" ? file.file.value : new Uint8Array(0);
  return form === "raw" ? bytes : (contentOfText(file) ?? bytes);
}

/** The bytes of the field for a content. */
export function writeBytes(content: Uint8Array, form: FileBytes): Uint8Array {
  return form === "raw" ? content : new TextEncoder().encode(base64FromBytes(content));
}

/** What the bytes stand for when they are base64 text; `undefined` when they are none, or cannot be meant as such. */
function contentOfText({ file, mimeType }: WireFile): Uint8Array | undefined {
  if (file.case !== "fileWithBytes" || !isBase64Text(file.value)) return undefined;
  const content = bytesFromBase64(new TextDecoder().decode(file.value));
  if (content === undefined) return undefined;
  // A word of four letters is base64 too: of bytes that are no text, though the file is said to be one.
  const isWord = file.value.length <= wordMaxLength && isTextType(mimeType) && !isText(content);
  return isWord ? undefined : content;
}

/** Longer files without a space or a line break are base64, also where their content is in some other encoding than UTF-8. */
const wordMaxLength = 64;

const equalsSign = 0x3d;

/** Standard base64 from end to end, padded. */
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
