import type {
  Message as AnyMessage,
  DescField,
  DescMessage,
  DescOneof,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { exceedsJsonSize, exceedsSize, sizeOfContentIn } from "../../protocol/check/size.js";
import { memberWriters, writeJson } from "../../protocol/codec/json/writer.js";
import {
  type DynamicMessage,
  dynamic,
  isJsonObject,
  isOneof,
  type OneofValue,
} from "../../protocol/codec/outline/dynamic.js";
import { sliceText } from "../../protocol/codec/text-slices.js";
import { type ListTasksResponse, type Task, TaskSchema } from "../../protocol/model.js";

// The JSON text of a large message in pieces, so that other work can run between them. A small message is one piece,
// and so are small neighbors in a list: the pieces cost about as much as the whole text. Only bytes are not divided.

const pieceBytes = 64 * 1024;
/** Smallest size that a message of a list counts as, so that a piece of empty ones ends. */
const itemBytes = 64;

/** The text of `writeJson` in pieces, made on demand. */
export function* jsonTexts(desc: DescMessage, message: AnyMessage): Generator<string> {
  if (!exceedsSize(message, pieceBytes)) {
    yield JSON.stringify(writeJson(desc, message));
    return;
  }
  const fields = dynamic(message);
  let before = "{";
  for (const { member, write } of memberWriters(desc)) {
    const memberTexts = writeMember(member, fields);
    if (memberTexts === undefined) {
      const json: JsonObject = {};
      write(fields, json);
      const [entry] = Object.entries(json);
      if (entry === undefined) continue;
      yield `${before}"${entry[0]}":`;
      yield* valueTexts(entry[1]);
    } else {
      yield `${before}"${memberTexts.name}":`;
      yield* memberTexts.texts;
    }
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

/** The text of free JSON. Small neighbors in a list or an object are one piece together. */
function* valueTexts(value: JsonValue): Generator<string> {
  if (!exceedsJsonSize(value, pieceBytes)) {
    yield JSON.stringify(value);
  } else if (typeof value === "string") {
    yield '"';
    for (const slice of sliceText(value, pieceBytes)) yield JSON.stringify(slice).slice(1, -1);
    yield '"';
  } else if (Array.isArray(value)) {
    yield* entryTexts("[", value, (entry) => ["", entry]);
    yield "]";
  } else if (isJsonObject(value)) {
    yield* entryTexts("{", Object.keys(value), (key) => [`${JSON.stringify(key)}:`, value[key] ?? null]);
    yield "}";
  }
}

/** The texts of the entries of a list or an object, behind the bracket that opens it. */
function* entryTexts<T>(
  open: string,
  entries: readonly T[],
  read: (entry: T) => readonly [name: string, value: JsonValue],
): Generator<string> {
  let text = open;
  let before = "";
  for (const entry of entries) {
    const [name, value] = read(entry);
    text += before + name;
    before = ",";
    if (exceedsJsonSize(value, pieceBytes)) {
      yield text;
      yield* valueTexts(value);
      text = "";
    } else {
      text += JSON.stringify(value);
    }
    if (text.length > pieceBytes) {
      yield text;
      text = "";
    }
  }
  yield text;
}

/** The text of a page of tasks. With `hasArtifacts`, each task has its list of artifacts, even an empty one. */
export function* pageTexts(desc: DescMessage, page: ListTasksResponse, hasArtifacts: boolean): Generator<string> {
  const emptyPage: ListTasksResponse = { ...page, tasks: [] };
  const { tasks: _, ...rest } = writeJson(desc, emptyPage);
  const writeTexts = (task: Task): Iterable<string> => {
    const texts = jsonTexts(TaskSchema, task);
    return hasArtifacts && task.artifacts.length === 0 ? withMember(texts, '"artifacts":[]') : texts;
  };
  yield '{"tasks":';
  yield* listTexts(page.tasks, writeTexts);
  yield `,${JSON.stringify(rest).slice(1)}`;
}

/** Adds a member to the text of an object that has others. */
function* withMember(texts: Iterable<string>, member: string): Generator<string> {
  let pending = "";
  for (const text of texts) {
    yield pending;
    pending = text;
  }
  yield `${pending.slice(0, -1)},${member}}`;
}

/** The text of a list. `writeTexts` returns the texts of an item. */
function* listTexts<T>(items: Iterable<T>, writeTexts: (item: T) => Iterable<string>): Generator<string> {
  let before = "[";
  for (const item of items) {
    yield before;
    yield* writeTexts(item);
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** The name and the texts of a member that holds messages, if it is set. */
function writeMember(member: DescField | DescOneof, message: DynamicMessage) {
  if (isOneof(member)) {
    const { case: name, value } = message[member.localName] as OneofValue;
    const field = member.fields.find(({ localName }) => localName === name);
    return field === undefined ? undefined : writeField(field, value);
  }
  return writeField(member, message[member.localName]);
}

function writeField({ fieldKind, jsonName, message: desc }: DescField, value: unknown) {
  if (value === undefined || desc === undefined || desc.typeName.startsWith("google.")) return undefined;
  if (fieldKind === "message") return { name: jsonName, texts: jsonTexts(desc, value as AnyMessage) };
  if (fieldKind !== "list") return undefined;
  const items = value as readonly AnyMessage[];
  if (items.length === 0) return undefined;
  return { name: jsonName, texts: listTexts(groupItems(items), (group) => groupTexts(desc, group)) };
}

/** Groups of neighbors that are one piece together, or a single message that is larger. */
function* groupItems(items: readonly AnyMessage[]): Generator<readonly AnyMessage[]> {
  let group: AnyMessage[] = [];
  let bytesLeft = pieceBytes;
  for (const item of items) {
    const size = itemBytes + sizeOfContentIn(item, pieceBytes);
    if (size > bytesLeft && group.length > 0) {
      yield group;
      group = [];
      bytesLeft = pieceBytes;
    }
    group.push(item);
    bytesLeft -= size;
  }
  yield group;
}

function groupTexts(desc: DescMessage, group: readonly AnyMessage[]): Iterable<string> {
  const [item] = group;
  if (group.length === 1 && item !== undefined) return jsonTexts(desc, item);
  return [JSON.stringify(group.map((item) => writeJson(desc, item))).slice(1, -1)];
}
