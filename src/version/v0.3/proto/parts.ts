import type { JsonObject } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { type FreeJsonCheck, valueFromJson, valueToJson } from "../../../protocol/codec/json/struct.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { type Part, typeNames } from "../../../protocol/model.js";
import { addViolation, prefixIndex, prefixMember, type Violations } from "../../../protocol/violations.js";
import type { FileBytes } from "../../options.js";
import { detectBytesForm, readBytes, writeBytes } from "./bytes.js";
import { type WireFile, type WirePart, wireTypeNames } from "./model.js";

// Parts of 0.3's schema: files and data are messages of their own, and data must be an object.

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

/** Marks a part whose data is not an object, and which 0.3 wraps in one. All SDKs read and write this mark. */
const wrapMark = "data_part_compat";

export function readParts(wires: readonly WirePart[], reading: Reading): Part[] {
  const formInUse = detectBytesForm(wires.flatMap(({ part }) => (part.case === "file" ? [part.value] : [])));
  // `raw` is proof, since the content cannot be base64. What looks like base64 may still be raw content.
  if (formInUse !== undefined && reading.fileBytes !== "raw") reading.fileBytes = formInUse;
  const { violations } = reading;
  return wires.map((wire, index) => {
    const before = violations.length;
    const part = readPart(wire, reading);
    if (violations.length !== before) prefixIndex(violations, before, index);
    return part;
  });
}

function readPart({ part, metadata }: WirePart, reading: Reading): Part {
  switch (part.case) {
    case "text":
      return createPart({ case: "text", value: part.value }, { metadata });
    case "file":
      return createPart(readFile(part.value, reading), {
        metadata,
        filename: part.value.name,
        mediaType: part.value.mimeType,
      });
    case "data":
      return readData(part.value.data ?? {}, metadata);
    default:
      return createPart({ case: undefined }, { metadata });
  }
}

interface PartFacts {
  readonly metadata: JsonObject | undefined;
  readonly filename?: string;
  readonly mediaType?: string;
}

function createPart(content: Part["content"], { metadata, filename = "", mediaType = "" }: PartFacts): Part {
  const part: Part = { $typeName: typeNames.Part, content, filename, mediaType };
  if (metadata !== undefined) part.metadata = metadata;
  return part;
}

function readFile(file: WireFile, { fileBytes = "base64", violations }: Reading): Part["content"] {
  switch (file.file.case) {
    case "fileWithUri":
      return { case: "url", value: file.file.value };
    case "fileWithBytes":
      return { case: "raw", value: readBytes(file, fileBytes) };
    default: {
      const before = violations.length;
      addViolation(violations, "needs one of fileWithUri, fileWithBytes");
      prefixMember(violations, before, "file");
      return { case: "url", value: "" };
    }
  }
}

function readData(data: JsonObject, metadata: JsonObject | undefined): Part {
  const { value } = data;
  if (metadata?.[wrapMark] !== true || value === undefined) return createPart(dataContent(data), { metadata });
  const { [wrapMark]: _, ...others } = metadata;
  return createPart(dataContent(value), { metadata: Object.keys(others).length === 0 ? undefined : others });
}

function dataContent(json: JsonObject[string]): Part["content"] {
  // Free-form JSON is validated when it is read and with the whole request, so it is not checked here.
  const check: FreeJsonCheck = { maxDepth: Number.POSITIVE_INFINITY, lenient: true, violations: [] };
  return { case: "data", value: valueFromJson(json, check, 1) };
}

export function writeParts(parts: readonly Part[], form: WireForm): WirePart[] {
  return parts.map((part) => writePart(part, form));
}

function writePart(part: Part, form: WireForm): WirePart {
  const { content, metadata } = part;
  if (content.case === "data") return writeData(content.value, metadata);
  const wire: WirePart = { $typeName: wireTypeNames.Part, part: writeContent(part, form) };
  if (metadata !== undefined) wire.metadata = metadata;
  return wire;
}

function writeContent({ content, filename, mediaType }: Part, { fileBytes }: WireForm): WirePart["part"] {
  const file = (source: WireFile["file"]): WirePart["part"] => ({
    case: "file",
    value: { $typeName: wireTypeNames.FilePart, file: source, mimeType: mediaType, name: filename },
  });
  switch (content.case) {
    case "text":
      return { case: "text", value: content.value };
    case "url":
      return file({ case: "fileWithUri", value: content.value });
    case "raw":
      return file({ case: "fileWithBytes", value: writeBytes(content.value, fileBytes) });
    default:
      return { case: undefined };
  }
}

function writeData(value: Value, metadata: JsonObject | undefined): WirePart {
  const json = valueToJson(value);
  const isObject = isJsonObject(json);
  const data = isObject ? json : { value: json };
  const wire: WirePart = {
    $typeName: wireTypeNames.Part,
    part: { case: "data", value: { $typeName: wireTypeNames.DataPart, data } },
  };
  const wireMetadata = isObject ? metadata : { ...metadata, [wrapMark]: true };
  if (wireMetadata !== undefined) wire.metadata = wireMetadata;
  return wire;
}
