import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect } from "vitest";
import { errorFromStatusBytes } from "../../src/binding/grpc/details.js";
import { isJsonObject } from "../../src/protocol/codec/outline/dynamic.js";
import { errorTable } from "../../src/protocol/errors.js";
import type { Operation } from "../../src/protocol/operations.js";
import { frame, type RawAnswer, rawSession } from "./grpc-raw.js";
import type { RawOutcome, RawWire } from "./raw-wire.js";
import type { FaultyRequest } from "./spoiled-request.js";

// Handmade gRPC: requests with fields of the wrong wire type, and text that is not UTF-8.

export function rawGrpc(port: number): RawWire {
  const { session, call: callRpc, [Symbol.dispose]: dispose } = rawSession(port);
  session.on("error", () => {});
  const call = async ({ method, input }: Operation, request: JsonObject): Promise<RawOutcome> =>
    grpcOutcome(await callRpc(method, frame(encodeLoosely(input, request))));
  return {
    call,
    withFault: (operation, spoiled) => ({
      names: canEncode(spoiled) ? spoiled.names : undefined,
      send: () => call(operation, spoiled.json),
    }),
    [Symbol.dispose]: dispose,
  };
}

// The other faults are meaningless in binary or mean something else: a field of the wrong wire type is an unknown
// field.
const binaryFaults: ReadonlySet<string> = new Set([
  "missing",
  "null",
  "with too many entries",
  "with an unknown number",
  "negative",
  "empty",
  "too long",
  "that is too deep",
]);

function canEncode({ fault, field }: FaultyRequest): boolean {
  // The last arm of a oneof wins, and an earlier one may be present.
  return binaryFaults.has(fault) && !(field.oneof !== undefined && fault === "null");
}

/** Parses a gRPC answer. Status and details of an error must agree (spec 10.6). */
export function grpcOutcome({ headers, trailers, status, body }: RawAnswer): RawOutcome {
  const fields = { ...headers, ...trailers };
  const bytes = Buffer.from(String(fields["grpc-status-details-bin"] ?? ""), "base64");
  const text = `${JSON.stringify(fields)}\n${bytes.toString("latin1")}\n${body.toString("latin1")}`;
  expect(headers["content-type"]).toMatch(/^application\/grpc/);
  if (status === 0) return { error: undefined, text: text };
  const message = decodeURIComponent(String(fields["grpc-message"]));
  const error = errorFromStatusBytes(bytes, message, "internalError");
  expect([errorTable[error.code].grpc, error.message]).toEqual([status, message]);
  return { error, text: text };
}

/** Encodes JSON as a message of a type, even if it is invalid. */
export function encodeLoosely(desc: DescMessage, json: JsonObject): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const field of desc.fields) {
    const value = json[field.jsonName];
    for (const each of Array.isArray(value) ? value : [value]) writeLoosely(writer, field, each);
  }
  return withBrokenUtf8(writer.finish());
}

function writeLoosely(
  writer: BinaryWriter,
  { number, message, enum: words, fieldKind }: DescField,
  value: JsonValue | undefined,
): void {
  if (value === undefined || value === null) return;
  const writeBytes = (bytes: Uint8Array) => writer.tag(number, WireType.LengthDelimited).bytes(bytes);
  const word = words?.values.find(({ name }) => name === value)?.number;
  if (word !== undefined) writer.tag(number, WireType.Varint).int32(word);
  else if (typeof value === "boolean") writer.tag(number, WireType.Varint).bool(value);
  else if (typeof value === "number" && Number.isSafeInteger(value)) writer.tag(number, WireType.Varint).int64(value);
  else if (typeof value === "number") writer.tag(number, WireType.Bit64).double(value);
  else if (message !== undefined && isReadable(message, value)) writeBytes(wellKnownBytes(message, value));
  else if (message !== undefined && isJsonObject(value)) writeBytes(encodeLoosely(message, value));
  else if (typeof value === "string") writeBytes(Buffer.from(value.replaceAll(/\p{Surrogate}/gu, "\ue000")));
  else if (fieldKind !== "list") writeBytes(Buffer.from([0xff, 0xff]));
}

function isReadable({ typeName }: DescMessage, value: JsonValue): boolean {
  if (typeName === "google.protobuf.Timestamp") return typeof value === "string" && !Number.isNaN(Date.parse(value));
  return typeName === "google.protobuf.Value" || (typeName === "google.protobuf.Struct" && isJsonObject(value));
}

function wellKnownBytes(desc: DescMessage, value: JsonValue): Uint8Array {
  const text = JSON.stringify(value).replaceAll(/\\ud[89a-f]../g, "\ue000");
  return toBinary(desc, fromJson(desc, JSON.parse(text) as JsonValue, { recursionLimit: 1_000 }));
}

// Half a surrogate pair: the three bytes it would have, which every UTF-8 decoder rejects.
function withBrokenUtf8(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const marker = Buffer.from("\ue000");
  const buffer = Buffer.from(bytes);
  for (let at = buffer.indexOf(marker); at >= 0; at = buffer.indexOf(marker, at)) buffer.set([0xed, 0xa0, 0x80], at);
  return new Uint8Array(buffer);
}
