import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import type { FieldViolation } from "../protocol/errors.js";
import type { OperationName } from "../protocol/operations.js";

// Unknown members are ignored, except for these names of another version in the `configuration` of a send: otherwise a
// webhook would not be set up, or a caller would wait that asked not to.

type Row = readonly [foreignName: string, ownPath: string];

const noWait: Row = ["blocking", "configuration.returnImmediately"];
const wait: Row = ["returnImmediately", "configuration.blocking"];
const waitInSnakeCase: Row = ["return_immediately", "configuration.blocking"];

/** By the form of a request: the JSON of 1.0, of 0.3 and 0.2 over JSON-RPC, of 0.3 over HTTP+JSON and Connect, and of 0.1. */
const rows = {
  "1.0": [
    noWait,
    ...pushRows(["pushNotificationConfig", "pushNotification"], "configuration.taskPushNotificationConfig"),
  ],
  "0.3": [
    wait,
    ...pushRows(["taskPushNotificationConfig", "pushNotification"], "configuration.pushNotificationConfig"),
  ],
  "0.3 HTTP+JSON": [
    wait,
    waitInSnakeCase,
    ...pushRows(["taskPushNotificationConfig", "pushNotificationConfig"], "configuration.pushNotification"),
  ],
  "0.1": pushRows(["taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"], "pushNotification"),
} as const satisfies Readonly<Record<string, readonly Row[]>>;

function pushRows(names: readonly string[], ownPath: string): readonly Row[] {
  return names.flatMap((name) => [name, snakeCase(name)].map((spelling): Row => [spelling, ownPath]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The violations of a request that has such a member, and lacks the one of its own version. */
export function foreignNamesIn(
  form: keyof typeof rows,
  operation: OperationName,
  json: JsonValue | undefined,
): readonly FieldViolation[] {
  if ((operation !== "sendMessage" && operation !== "sendStreamingMessage") || !isJsonObject(json)) return none;
  const { configuration } = json;
  if (!isJsonObject(configuration)) return none;
  const found = rows[form].filter(
    ([name, ownPath]) => (configuration[name] ?? null) !== null && !hasMember(json, ownPath),
  );
  // Writers of errors rename fields to those of their version, so the description has the name.
  return found.map(([name, ownPath]) => ({
    field: "configuration",
    description: `has ${name}, which is a name of another version: use ${ownPath}`,
  }));
}

const none: readonly never[] = [];

function hasMember(json: JsonValue, path: string): boolean {
  let value: JsonValue = json;
  for (const name of path.split(".")) {
    if (!isJsonObject(value)) return false;
    value = value[name] ?? value[snakeCase(name)] ?? null;
  }
  return value !== null;
}
