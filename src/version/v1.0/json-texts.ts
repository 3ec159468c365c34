import type {
  Message as AnyMessage,
  DescField,
  DescMessage,
  DescOneof,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { isLarger, sizeOfContentIn } from "../../protocol/check/size.js";
import { memberWriters, writeJson } from "../../protocol/codec/json/writer.js";
import { type DynamicMessage, dynamic, isOneof, type OneofValue } from "../../protocol/codec/outline/dynamic.js";
import { slicesOf } from "../../protocol/codec/text-slices.js";
import { type ListTasksResponse, type Task, TaskSchema } from "../../protocol/model.js";

// The JSON text of a large message in pieces, so that other work can run between them. A message that is not large is one
// piece, and so are messages beside each other in a list: the pieces cost about as much as the whole text. Only free JSON
// and bytes are not divided.

const pieceBytes = 64 * 1024;
/** What a message of a list takes at least, so that a piece of empty ones ends. */
const itemBytes = 64;

/** The text of `writeJson`, in pieces that are made when they are asked for. */
export function* jsonTexts(desc: DescMessage, message: AnyMessage): Generator<string> {
  if (!isLarger(message, pieceBytes)) {
    yield JSON.stringify(writeJson(desc, message));
    return;
  }
  const fields = dynamic(message);
  let before = "{";
  for (const { member, write } of memberWriters(desc)) {
    const nested = nestedIn(member, fields);
    if (nested === undefined) {
      const json: JsonObject = {};
      write(fields, json);
      const [entry] = Object.entries(json);
      if (entry === undefined) continue;
      yield `${before}"${entry[0]}":`;
      yield* valueTexts(entry[1]);
    } else {
      yield `${before}"${nested.name}":`;
      yield* nested.texts;
    }
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

function* valueTexts(value: JsonValue): Generator<string> {
  if (typeof value !== "string" || value.length <= pieceBytes) {
    yield JSON.stringify(value);
    return;
  }
  yield '"';
  for (const slice of slicesOf(value, pieceBytes)) yield JSON.stringify(slice).slice(1, -1);
  yield '"';
}

/** The text of a page of tasks, which list their artifacts even if there are none where these are asked for. */
export function* pageTexts(desc: DescMessage, page: ListTasksResponse, hasArtifacts: boolean): Generator<string> {
  const empty: ListTasksResponse = { ...page, tasks: [] };
  const { tasks: _, ...rest } = writeJson(desc, empty);
  const textsOf = (task: Task): Iterable<string> => {
    const texts = jsonTexts(TaskSchema, task);
    return hasArtifacts && task.artifacts.length === 0 ? withMember(texts, '"artifacts":[]') : texts;
  };
  yield '{"tasks":';
  yield* listTexts(page.tasks, textsOf);
  yield `,${JSON.stringify(rest).slice(1)}`;
}

/** Adds a member to the text of an object that has others. */
function* withMember(texts: Iterable<string>, member: string): Generator<string> {
  let last = "";
  for (const text of texts) {
    yield last;
    last = text;
  }
  yield `${last.slice(0, -1)},${member}}`;
}

/** The text of a list, each item in the texts that `textsOf` gives. */
function* listTexts<T>(items: Iterable<T>, textsOf: (item: T) => Iterable<string>): Generator<string> {
  let before = "[";
  for (const item of items) {
    yield before;
    yield* textsOf(item);
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** The name and the texts of a member that holds messages, if it is set. */
function nestedIn(member: DescField | DescOneof, message: DynamicMessage) {
  if (isOneof(member)) {
    const { case: name, value } = message[member.localName] as OneofValue;
    const field = member.fields.find(({ localName }) => localName === name);
    return field === undefined ? undefined : nested(field, value);
  }
  return nested(member, message[member.localName]);
}

function nested({ fieldKind, jsonName, message: desc }: DescField, value: unknown) {
  if (value === undefined || desc === undefined || desc.typeName.startsWith("google.")) return undefined;
  if (fieldKind === "message") return { name: jsonName, texts: jsonTexts(desc, value as AnyMessage) };
  if (fieldKind !== "list") return undefined;
  const items = value as readonly AnyMessage[];
  if (items.length === 0) return undefined;
  return { name: jsonName, texts: listTexts(groupsOf(items), (group) => groupTexts(desc, group)) };
}

/** Messages beside each other that are one piece together, or one that is larger. */
function* groupsOf(items: readonly AnyMessage[]): Generator<readonly AnyMessage[]> {
  let group: AnyMessage[] = [];
  let left = pieceBytes;
  for (const item of items) {
    const size = itemBytes + sizeOfContentIn(item, pieceBytes);
    if (size > left && group.length > 0) {
      yield group;
      group = [];
      left = pieceBytes;
    }
    group.push(item);
    left -= size;
  }
  yield group;
}

function groupTexts(desc: DescMessage, group: readonly AnyMessage[]): Iterable<string> {
  const [first] = group;
  if (group.length === 1 && first !== undefined) return jsonTexts(desc, first);
  return [JSON.stringify(group.map((item) => writeJson(desc, item))).slice(1, -1)];
}
