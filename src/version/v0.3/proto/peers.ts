import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { base64FromBytes, bytesFromBase64 } from "../../../protocol/base64.js";
import type { CallOptions } from "../../../protocol/context.js";
import { invoke, type OperationName, type Operations, operations } from "../../../protocol/operations.js";
import type { Violations } from "../../../protocol/violations.js";
import type { FileBytes } from "../../options.js";
import type { WireFile } from "./model.js";

// Peers of 0.3 disagree on file bytes: some send the raw content, most its base64 text. The form is inferred from the files
// that a peer sends (`detectBytesForm`), noted while a message is read (`Reading`), and remembered (`Peers`), so that the peer
// gets files in its own form (`WireForm`).

/** The form in which a peer is sent messages. */
export interface WireForm {
  readonly fileBytes: FileBytes;
  /** Whether messages name the tasks they refer to. Some JSON readers reject unknown members. */
  readonly references: boolean;
}

/** Findings of reading a message. */
export interface Reading {
  /** The sender, whose role a message without a role gets. */
  readonly from: "client" | "agent";
  /** The form of file bytes seen from the peer so far. */
  fileBytes: FileBytes | undefined;
  /** Violations that the result of the reading does not show. */
  readonly violations: Violations;
}

/** The facts known about a peer. */
interface Peer {
  fileBytes: FileBytes | undefined;
}

// A call signature assignable to that of every operation.
type AnyCall = (request: AnyMessage, options: CallOptions) => Promise<never> & AsyncIterable<never>;

/**
 * Tracks how the peers of one adapter encode file bytes. A server uses the form of each request for its reply. A client
 * remembers the form per transport, once the agent has sent a file.
 */
export class Peers {
  readonly #byRequest = new WeakMap<AnyMessage, Peer>();
  readonly #defaultForm: WireForm;

  /** `otherwise` is the form for a peer that has not shown its own. */
  constructor(defaultForm: WireForm) {
    this.#defaultForm = defaultForm;
  }

  /** Wraps a client's transport so that its peer's form is remembered. */
  remember(transport: Operations<CallOptions>): Operations<CallOptions> {
    const peer: Peer = { fileBytes: undefined };
    const calls = operations.map((operation) => {
      const call = (request: AnyMessage, options: CallOptions) => {
        this.#byRequest.set(request, peer);
        return invoke(transport, operation, request, options);
      };
      return [operation.name, call as AnyCall] as const;
    });
    return Object.fromEntries(calls) as Record<OperationName, AnyCall>;
  }

  /** On the server, records the form of a request. */
  note(request: AnyMessage, { fileBytes }: Reading): void {
    if (fileBytes !== undefined) this.#byRequest.set(request, { fileBytes });
  }

  /** Returns the form for the peer of a request. */
  formFor(request: AnyMessage): WireForm {
    const fileBytes = this.#byRequest.get(request)?.fileBytes;
    return fileBytes === undefined ? this.#defaultForm : { ...this.#defaultForm, fileBytes };
  }

  /** On the client, reads the reply to a request. */
  readReply<M>(request: AnyMessage | undefined, read: (reading: Reading) => M): M {
    const peer = request === undefined ? undefined : this.#byRequest.get(request);
    const reading: Reading = { from: "agent", fileBytes: peer?.fileBytes, violations: [] };
    const reply = read(reading);
    if (peer !== undefined) peer.fileBytes = reading.fileBytes;
    return reply;
  }
}

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
