import { expect } from "vitest";
import type { Binding } from "../../src/protocol/bindings.js";
import { type A2AError, type ErrorCode, errorTable } from "../../src/protocol/errors.js";
import type { VersionName } from "../../src/version/versions.js";

export type WireBinding = Binding | "grpc-web" | "in-process";

interface WireRow {
  readonly binding: WireBinding;
  readonly version: VersionName;
}

/** Every way of calling an agent, in every version that has it, `in-process` included. */
const table = {
  JSONRPC: { binding: "JSONRPC", version: "1.0" },
  "HTTP+JSON": { binding: "HTTP+JSON", version: "1.0" },
  GRPC: { binding: "GRPC", version: "1.0" },
  CONNECT: { binding: "CONNECT", version: "1.0" },
  "grpc-web": { binding: "grpc-web", version: "1.0" },
  "in-process": { binding: "in-process", version: "1.0" },
  "JSONRPC 0.3": { binding: "JSONRPC", version: "0.3" },
  "HTTP+JSON 0.3": { binding: "HTTP+JSON", version: "0.3" },
  "GRPC 0.3": { binding: "GRPC", version: "0.3" },
  "CONNECT 0.3": { binding: "CONNECT", version: "0.3" },
  "grpc-web 0.3": { binding: "grpc-web", version: "0.3" },
  "JSONRPC 0.2": { binding: "JSONRPC", version: "0.2" },
  "JSONRPC 0.1": { binding: "JSONRPC", version: "0.1" },
} as const satisfies Record<Binding, WireRow> & Record<string, WireRow>;

export type Wire = keyof typeof table;

export const wires = Object.keys(table) as readonly Wire[];

export function wireRow(wire: Wire): WireRow {
  return table[wire];
}

/** The wires of these versions. */
export function wiresOf(...versions: readonly VersionName[]): readonly Wire[] {
  return wires.filter((wire) => versions.includes(table[wire].version));
}

interface Limit {
  /** Wires that cannot do it. */
  readonly wiresWithout: readonly Wire[];
  readonly because: string;
}

const older = wiresOf("0.3", "0.2", "0.1");
const oldest = wiresOf("0.1");
const notBy = (wiresWithout: readonly Wire[], because: string): Limit => ({ wiresWithout, because });

/** Abilities that a case may need and some wires lack, with the reason. */
const abilities = {
  "list tasks": notBy(older, "the operation is new in 1.0"),
  "name tenants": notBy(older, "requests have no member for it before 1.0"),
  "say all of a part": notBy(older, "only files have a media type and a name before 1.0"),
  "page push configurations": notBy(older, "their list is an array before 1.0, with no place for a token"),
  "refuse to watch what has ended": notBy(older, "0.3's schema: the stream of an ended task has the task and ends"),
  "end streams in silence": notBy(
    wiresOf("0.3", "0.2"),
    "0.3 section 7.2.2: the last status of a stream is marked as final",
  ),
  "name fields as the model does": notBy(older, "errors use the field names of the caller's version"),
  "tell details of errors": notBy(
    ["JSONRPC 0.3", "JSONRPC 0.2", "JSONRPC 0.1"],
    "`data` has no form before 1.0, and clients of that time lose errors over it",
  ),
  "refer to tasks": notBy(["HTTP+JSON 0.3", ...oldest], "0.3's schema and 0.1's messages have no such field"),
  "number events": notBy(
    ["GRPC", "CONNECT", "grpc-web", "GRPC 0.3", "CONNECT 0.3", "grpc-web 0.3", ...oldest],
    "server-sent events alone have a line for it, which 0.1 does not use",
  ),
  "tell the agent's answer": notBy(oldest, "the only answer of 0.1 is a task, under the caller's name"),
  "answer at once": notBy(oldest, "0.1 section tasks/send: the answer is the task when it is done"),
  "keep ids of artifacts": notBy(oldest, "artifacts of 0.1 have an index"),
  "keep ids of messages": notBy(oldest, "messages of 0.1 have none"),
  "know every state": notBy(oldest, "REJECTED and AUTH_REQUIRED came with 0.2"),
  "tell history unasked": notBy(oldest, "0.1 returns only the requested number of messages"),
  "begin streams with the task": notBy(oldest, "streams of 0.1 are made of updates; that of the state is the first"),
  "watch beyond a question": notBy(oldest, "streams of 0.1 end where the task waits for its caller"),
  "take ids as they are given": notBy(oldest, "callers of 0.1 choose the ids of their tasks"),
  "keep several push configurations": notBy(oldest, "a task has one in 0.1"),
  "have an extended card": notBy(oldest, "it came with 0.2"),
  "activate extensions": notBy(oldest, "they came with 0.2"),
} as const satisfies Record<string, Limit>;

export type Ability = keyof typeof abilities;

function can(wire: Wire, ability: Ability): boolean {
  const { wiresWithout: missing }: Limit = abilities[ability];
  return !missing.includes(wire);
}

/** The wires that can do all of this. */
export function wiresThat(...needed: readonly Ability[]): readonly Wire[] {
  return wires.filter((wire) => needed.every((ability) => can(wire, ability)));
}

type Nearest = { readonly [code in ErrorCode]?: ErrorCode };

/** The error that a caller gets where its number, or else the HTTP status, identifies it. */
const nearest: { readonly [version in VersionName]: Nearest } = {
  "1.0": {},
  "0.3": {
    requestTimeout: "invalidRequest",
    deadlineExceeded: "internalError",
  },
  get "0.2"() {
    return this["0.3"];
  },
  "0.1": {
    requestTimeout: "invalidRequest",
    versionNotSupported: "invalidRequest",
    deadlineExceeded: "internalError",
    invalidAgentResponse: "internalError",
    extendedAgentCardNotConfigured: "unsupportedOperation",
    extensionSupportRequired: "unsupportedOperation",
  },
};

/** An error as a caller gets it over a wire, to match against; without details if the wire has none. */
export function errorOverWire(wire: Wire, error: Partial<A2AError> & Pick<A2AError, "code">): Partial<A2AError> {
  if (can(wire, "tell details of errors")) return error;
  const code = nearest[table[wire].version][error.code] ?? error.code;
  if (error.message === undefined) return { code, reason: errorTable[code].reason };
  // This error always has the text of 0.3's schema, by which some clients recognize it.
  const isByText = code === "taskNotFound" && table[wire].version !== "0.1";
  return { code, message: isByText ? "Task not found" : error.message };
}

/** Fails unless an error says that this field is wrong, by the name that the wire has for it. */
export function expectWrong(wire: Wire, error: A2AError, field: string): void {
  expect(error.code).toBe("invalidParams");
  const fieldName = field.slice(field.lastIndexOf(".") + 1);
  const names = can(wire, "name fields as the model does") ? fieldName : (olderNames[fieldName] ?? fieldName);
  expect(error.message).toMatch(new RegExp(`\\b(${names})\\b`));
  if (can(wire, "name fields as the model does")) expect(error.violations).toMatchObject([{ field }]);
}

const olderNames: Readonly<Record<string, string>> = {
  parts: "parts|content",
  contextId: "contextId|sessionId",
  scheme: "schemes",
};

/** The lines with which a stream ends that has not marked its last status as final. */
export function closingLines(wire: Wire, status: string): readonly string[] {
  return can(wire, "end streams in silence") ? [] : [`status ${status}`];
}
