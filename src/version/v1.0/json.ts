import type { Message as AnyMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { validateRead } from "../../protocol/check/validate.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { dynamic, isJsonObject, type OneofValue } from "../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../protocol/errors.js";
import { type ListTasksResponse, StreamResponseSchema } from "../../protocol/model.js";
import { type Operation, type OperationName, operations } from "../../protocol/operations.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import { mergeViolations, violationText } from "../../protocol/violations.js";
import type { OperationCodec, StreamReader, StreamWriter } from "../codec.js";
import { unreadableEvent, unreadableReply } from "../codec-errors.js";
import { type EventTexts, encodeTextOnce } from "../encode-once.js";
import type { foreignNamesIn } from "../foreign-names.js";
import type { jsonTexts, pageTexts } from "./json-texts.js";

// The JSON of 1.0, shared by both JSON bindings. The model is 1.0's, so no objects are converted.

/** Functions that check requests and write large replies. Only servers need them; browsers do not load them. */
export interface ServerCode {
  readonly validateRead: typeof validateRead;
  readonly foreignNamesIn: typeof foreignNamesIn;
  readonly jsonTexts: typeof jsonTexts;
  readonly pageTexts: typeof pageTexts;
}

/** Rewrites the card forms of released SDKs (`sdk-forms.ts`), once a card has needed it. */
let readSdkForms = (card: JsonObject): JsonObject => card;

/**
 * Sets the function that reads extended cards. Few agents need it, so the client loads it with the first card that lists
 * security schemes. An extended card comes only after such a card.
 */
export function readExtendedCardsBy(read: typeof readSdkForms): void {
  readSdkForms = read;
}

/** JSON codecs of all operations. */
export function jsonCodecs(limits: ValidationLimits, code: ServerCode): (operation: Operation) => OperationCodec {
  const codecs = new Map(operations.map((operation) => [operation.name, createCodec(operation, limits, code)]));
  return ({ name }) => {
    const codec = codecs.get(name);
    if (codec === undefined) throw new TypeError(`no operation ${name}`);
    return codec;
  };
}

function createCodec(
  { name, input, output }: Operation,
  limits: ValidationLimits,
  { validateRead, foreignNamesIn, jsonTexts, pageTexts }: ServerCode,
): OperationCodec {
  const writeMembers = replyWriters[name];
  return {
    readRequest(json) {
      const { message, violations } = readJson(input, json, { maxDepth: limits.jsonDepthMax });
      const invalid = validateRead(input, message, limits);
      const foreign = foreignNamesIn("1.0", name, json);
      if (violations.length + invalid.length + foreign.length === 0) return message;
      throw invalidParams(...foreign, ...mergeViolations(violations, invalid));
    },
    writeRequest: (request) => writeJson(input, request),
    readReply(answer) {
      const json = name === "getExtendedAgentCard" && isJsonObject(answer) ? readSdkForms(answer) : answer;
      // Only the empty reply of a delete may be missing (D-20).
      if ((json ?? undefined) === undefined && output.fields.length > 0) throw unreadableReply(name, "it is missing");
      const { message, violations } = readJson(output, json, { lenient: true });
      const [violation] = violations;
      if (violation !== undefined) throw unreadableReply(name, violationText(violation));
      if (!hasPayload(message)) throw unreadableReply(name, "it holds nothing that this version knows");
      return message;
    },
    writeReply(reply, request) {
      const json = writeJson(output, reply);
      return writeMembers === undefined ? json : writeMembers(json, request);
    },
    replyTexts(reply, request) {
      return name === "listTasks"
        ? pageTexts(output, reply as ListTasksResponse, hasArtifacts(request))
        : jsonTexts(output, reply);
    },
  };
}

// With `includeArtifacts`, each task lists its artifacts even if there are none.
const replyWriters: { readonly [K in OperationName]?: (json: JsonObject, request: AnyMessage) => JsonObject } = {
  listTasks(json, request) {
    const tasks = json["tasks"];
    if (!hasArtifacts(request) || !Array.isArray(tasks)) return json;
    for (const task of tasks) {
      if (isJsonObject(task)) task["artifacts"] ??= [];
    }
    return json;
  },
};

function hasArtifacts(request: AnyMessage): boolean {
  return dynamic(request)["includeArtifacts"] === true;
}

// A reply with a `payload` union must hold a known payload.
function hasPayload(message: AnyMessage): boolean {
  const payload = dynamic(message)["payload"] as OneofValue | undefined;
  return payload === undefined || payload.case !== undefined;
}

/** The JSON text of events, each encoded once. */
export function createEventTexts({ jsonTexts }: ServerCode): EventTexts {
  return encodeTextOnce(
    (response) => JSON.stringify(writeJson(StreamResponseSchema, response)),
    (response) => jsonTexts(StreamResponseSchema, response),
  );
}

/** Server end of a stream. It is stateless, so one instance serves all streams. */
export function createStreamWriter(eventTexts: EventTexts): StreamWriter<string> {
  return {
    write: (item) => [{ payload: eventTexts.text(item), id: item.id }],
    writeLarge: (item) => [{ payload: eventTexts.pieces(item), id: item.id }],
  };
}

/** Client end of a stream. Skips events of unknown kinds. */
export const jsonStreamReader: StreamReader<JsonValue> = {
  read(json, head) {
    const { message, violations } = readJson(StreamResponseSchema, json, { lenient: true });
    const [violation] = violations;
    if (violation !== undefined) throw unreadableEvent(violationText(violation));
    return message.payload.case === undefined ? [] : [{ response: message, id: head?.id }];
  },
};
