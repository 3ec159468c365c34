import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isRecord } from "../../kinds.js";
import { setOwn } from "../outline/dynamic.js";
import { type Input, maxDepth, unsupportedInput } from "./input.js";
import type { Output } from "./output.js";

// The binary form of google.protobuf.Struct and Value, as JSON. Tags: field number and wire type.

const keyTag = (1 << 3) | 2;
const structEntryTag = (1 << 3) | 2;
const structValueTag = (2 << 3) | 2;

/** Decodes a Struct to the JSON that its field holds. */
export function readStruct(input: Input, end: number, depth: number): JsonObject {
  if (depth > maxDepth) throw unsupportedInput;
  const json: JsonObject = {};
  while (input.at < end) {
    if (input.varint() !== structEntryTag) throw unsupportedInput;
    const entryEnd = input.end();
    if (input.varint() !== keyTag) throw unsupportedInput;
    const key = input.string();
    if (input.varint() !== structValueTag) throw unsupportedInput;
    setOwn(json, key, readJsonValue(input, input.end(), depth));
    if (input.at !== entryEnd) throw unsupportedInput;
  }
  if (input.at !== end) throw unsupportedInput;
  return json;
}

/** The kinds of a Value, by their tags. */
const nullTag = 1 << 3;
const numberTag = (2 << 3) | 1;
const stringTag = (3 << 3) | 2;
const boolTag = 4 << 3;
const structTag = (5 << 3) | 2;
const listTag = (6 << 3) | 2;

export function readJsonValue(input: Input, end: number, depth: number): JsonValue {
  const value = readJsonKind(input, input.varint(), depth);
  if (input.at !== end) throw unsupportedInput;
  return value;
}

function readJsonKind(input: Input, tag: number, depth: number): JsonValue {
  switch (tag) {
    case nullTag:
      // An enum may have a number without a name, which JSON cannot hold.
      if (input.varint() !== 0) throw unsupportedInput;
      return null;
    case numberTag:
      return checkFinite(input.double());
    case stringTag:
      return input.string();
    case boolTag:
      return input.varint() !== 0;
    case structTag:
      return readStruct(input, input.end(), depth + 1);
    case listTag:
      return readList(input, input.end(), depth + 1);
    default:
      throw unsupportedInput;
  }
}

function readList(input: Input, end: number, depth: number): JsonValue[] {
  if (depth > maxDepth) throw unsupportedInput;
  const list: JsonValue[] = [];
  while (input.at < end) {
    if (input.varint() !== structEntryTag) throw unsupportedInput;
    list.push(readJsonValue(input, input.end(), depth));
  }
  if (input.at !== end) throw unsupportedInput;
  return list;
}

function checkFinite(number: number): number {
  if (!Number.isFinite(number)) throw unsupportedInput;
  return number;
}

/** Encodes the JSON of a Struct field. */
export function writeStruct(output: Output, value: unknown): void {
  if (!isRecord(value)) throw unsupportedInput;
  const json = value as { readonly [key: string]: unknown };
  for (const key of Object.keys(json)) {
    output.varint(structEntryTag);
    const start = output.open(likelyLengthBytes);
    output.varint(keyTag);
    output.string(key);
    output.varint(structValueTag);
    writeJsonValue(output, json[key]);
    output.close(start, likelyLengthBytes);
  }
}

const likelyLengthBytes = 1;

/** A Value prefixed by its length. */
function writeJsonValue(output: Output, json: unknown): void {
  const start = output.open(likelyLengthBytes);
  writeJsonKind(output, json);
  output.close(start, likelyLengthBytes);
}

/** The content of a Value. */
export function writeJsonKind(output: Output, json: unknown): void {
  switch (typeof json) {
    case "string":
      output.varint(stringTag);
      output.string(json);
      return;
    case "number":
      output.varint(numberTag);
      output.double(json);
      return;
    case "boolean":
      output.varint(boolTag);
      output.varint(json ? 1 : 0);
      return;
    case "object":
      writeJsonObject(output, json);
      return;
    default:
      throw unsupportedInput;
  }
}

function writeJsonObject(output: Output, json: object | null): void {
  if (json === null) {
    output.varint(nullTag);
    output.varint(0);
    return;
  }
  output.varint(Array.isArray(json) ? listTag : structTag);
  const start = output.open(likelyLengthBytes);
  if (Array.isArray(json)) writeList(output, json);
  else writeStruct(output, json);
  output.close(start, likelyLengthBytes);
}

function writeList(output: Output, list: readonly unknown[]): void {
  for (const entry of list) {
    output.varint(structEntryTag);
    writeJsonValue(output, entry);
  }
}
