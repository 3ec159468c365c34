import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { assertFewFields } from "../../protocol/codec/binary/field-count.js";
import { JsonValueCounter } from "../../protocol/codec/value-count.js";
import { A2AError } from "../../protocol/errors.js";
import type { HttpRequest } from "../http/http.js";
import { bodyTooLarge, isGzip } from "../http/request-body.js";
import type { BindingLimits } from "../service.js";
import { encodeEnvelope } from "./envelope.js";

/** How the body of a request is written. */
export interface BodyForm {
  readonly isJson: boolean;
  /** Whether messages are in envelopes, as in streams and gRPC-Web. */
  readonly isEnveloped: boolean;
  readonly isGzip: boolean;
  /** Whether a framework's body parser has read the body, and may have decompressed it. */
  readonly isParsed: boolean;
  readonly maxBytes: number;
  readonly maxValues: number;
}

/** Reads the form of a body from the headers. */
export function readBodyForm(request: HttpRequest, limits: BindingLimits): BodyForm {
  const type = request.header("content-type")?.toLowerCase() ?? "";
  const isJson = type.includes("json");
  const isEnveloped = /^application\/(?:connect\+|grpc)/.test(type);
  const encodings = isEnveloped ? ["connect-content-encoding", "grpc-encoding"] : ["content-encoding"];
  return {
    isJson,
    isEnveloped,
    isGzip: encodings.some((name) => request.header(name) === "gzip"),
    isParsed: request.isParsed,
    maxBytes: isJson ? limits.jsonBodyMaxBytes : limits.contentMaxBytes,
    maxValues: limits.jsonMaxValues,
  };
}

const headBytes = 5;
const compressedFlag = 1;

/** The checks of a body, for the call that it belongs to. */
export interface BodyChecks {
  readonly input: DescMessage;
  /** Gets the decompressed body. */
  readonly countBytes: (piece: Uint8Array) => void;
  /** Gets the JSON of a body that has any. What it throws is the answer. */
  readonly onJson: (json: JsonValue) => void;
}

/**
 * Checks the values of a body and decompresses it for connect-es, which only limits bytes. Throws `contentTooLarge` for too many bytes or values.
 */
export async function measureBody(
  bytes: Uint8Array,
  form: BodyForm,
  { input, countBytes, onJson }: BodyChecks,
): Promise<Uint8Array> {
  const message = form.isEnveloped ? bytes.subarray(headBytes) : bytes;
  if (form.isEnveloped && message.length > lengthIn(bytes)) {
    throw new A2AError("invalidRequest", "the request has more than one message");
  }
  const isCompressed = form.isEnveloped ? ((bytes[0] ?? 0) & compressedFlag) !== 0 : isGzip(bytes) || !form.isParsed;
  const unzips = form.isGzip && isCompressed;
  const plain = unzips ? await unzip(message, form.maxBytes) : message;
  if (unzips) countBytes(plain);
  if (!form.isJson) assertFewFields(input, plain, form.maxValues);
  // Without compression the values were counted as they arrived.
  else if (form.isGzip) new JsonValueCounter(form.maxValues).add(plain);
  if (form.isJson) {
    const json = parseQuietly(plain);
    if (json !== undefined) onJson(json);
  }
  if (!unzips) return bytes;
  return form.isEnveloped ? encodeEnvelope(plain) : plain;
}

/** The length in the head of the first envelope. connect-es refuses a head or a message that is cut off. */
function lengthIn(bytes: Uint8Array): number {
  if (bytes.length < headBytes) return Number.POSITIVE_INFINITY;
  return new DataView(bytes.buffer, bytes.byteOffset, headBytes).getUint32(1);
}

/** The JSON of a body; `undefined` if it is none, which connect-es reports. */
function parseQuietly(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

async function unzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await compressionGzip.decompress(new Uint8Array(bytes), maxBytes);
  } catch (cause) {
    if (cause instanceof ConnectError && cause.code === Code.ResourceExhausted) throw bodyTooLarge(maxBytes);
    throw new A2AError("parseError", "the body is not gzip", { cause });
  }
}
