import type { JsonValue } from "@bufbuild/protobuf";
import { retry } from "../../protocol/async/retry.js";
import { checkSchema, type StandardSchema } from "../../protocol/content/schema.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { ContextState } from "../conversation-view.js";
import type { ContextValue, ContextValueResult, TaskStore } from "../ports.js";
import { type StoreTimes, StoreUnavailable, storeRetries } from "../store-failure.js";
import { type AgentConversations, conversationsOff } from "./conversations.js";
import type { ConversationLog } from "./log.js";

// The state of a context: values by key, which all its tasks share. Tasks of one context may run in several processes, so a
// change reads the value, calls the agent's function and writes under the version that was read. If another turn was
// faster, all of that is done again. A write without an answer may have been stored, so the versions that a change tried to
// write are remembered: when one of them is found, the change has been made.

/** Dependencies of the state of a context. */
export interface ContextStateDeps extends StoreTimes {
  readonly store: TaskStore;
  readonly newId: () => string;
  readonly limits: StoreTimes["limits"] & { readonly contextStateMaxBytes: number };
  readonly conversations: Pick<AgentConversations, "log"> | undefined;
}

/** How often a change is tried while others are faster. */
const maxTries = 100;

/** The context of a turn. */
export interface ContextOfTurn {
  readonly scope: Scope;
  readonly contextId: string;
  /** How long a change is retried while the store fails, in milliseconds. */
  retryMs(): number;
}

/** Opens the state of a context. Throws a `TypeError` when the agent has no conversations. */
export function openContextState(deps: ContextStateDeps, context: ContextOfTurn): ContextState {
  const { scope, contextId } = context;
  const log = deps.conversations?.log;
  if (log === undefined) throw conversationsOff("turn.context");
  async function get(key: string): Promise<JsonValue | undefined>;
  async function get<T>(key: string, schema: StandardSchema<T>): Promise<T | undefined>;
  async function get<T>(key: string, schema?: StandardSchema<T>): Promise<T | JsonValue | undefined> {
    const current = await deps.store.readContextValue(scope, contextId, checkKey(key));
    if (current === undefined) return undefined;
    const value: JsonValue = JSON.parse(current.json);
    return schema === undefined ? value : checkValue(schema, value, key);
  }
  return {
    get,
    update: (key, change) =>
      updateValue({ deps, log, scope, contextId, key: checkKey(key) }, change, context.retryMs()),
  };
}

// The value comes from the store, so the error must not blame the caller.
function checkValue<T>(schema: StandardSchema<T>, value: JsonValue, key: string): T {
  try {
    return checkSchema(schema, value, { path: key, code: "invalidParams" });
  } catch (cause) {
    if (!(cause instanceof A2AError)) throw cause;
    const [{ field, description } = { field: key, description: cause.message }] = cause.violations;
    throw new TypeError(`the state of the context does not fit: ${field} ${description}`, { cause });
  }
}

interface StateLocation {
  readonly deps: ContextStateDeps;
  readonly log: ConversationLog;
  readonly scope: Scope;
  readonly contextId: string;
  readonly key: string;
}

type StateChange = Parameters<ContextState["update"]>[1];

function updateValue(place: StateLocation, change: StateChange, retryMs: number): Promise<JsonValue | undefined> {
  const { deps, key } = place;
  /** Values that this call tried to write, by version: a write without an answer may have been stored. */
  const attempts = new Map<string, JsonValue>();
  const plan = storeRetries(deps, retryMs);
  const pauseAfter = (error: unknown, failures: number): number | undefined =>
    error instanceof StoreUnavailable ? plan.pauseAfter(error, failures) : undefined;
  const attempt = async (): Promise<JsonValue | undefined> => {
    for (let tries = 0; tries < maxTries; tries++) {
      const result = await changeOnce(place, attempts, change);
      if (result !== "moved") return result.value;
    }
    throw new A2AError(
      "unavailable",
      `${JSON.stringify(key)} in the state of the context was changed by others ${maxTries} times meanwhile: try again`,
      { retryAfterMs: 1000 },
    );
  };
  return retry(attempt, { ...plan, pauseAfter });
}

async function changeOnce(
  place: StateLocation,
  attempts: Map<string, JsonValue>,
  change: StateChange,
): Promise<"moved" | { readonly value: JsonValue | undefined }> {
  const { deps, scope, contextId, key } = place;
  const current = await deps.store.readContextValue(scope, contextId, key);
  const earlierValue = current === undefined ? undefined : attempts.get(current.version);
  if (earlierValue !== undefined) return { value: earlierValue };
  const next = await change(current === undefined ? undefined : JSON.parse(current.json));
  if (next === undefined && current === undefined) return { value: undefined };
  const value = next === undefined ? undefined : { version: deps.newId(), json: stringifyValue(key, next) };
  if (value !== undefined && next !== undefined) attempts.set(value.version, next);
  const result = await writeValue(place, current?.version, value);
  if (result === "full") throw contextStateFull(key, deps.limits.contextStateMaxBytes);
  return result === "stored" ? { value: next } : "moved";
}

function writeValue(
  { deps, log, scope, contextId, key }: StateLocation,
  replaces: string | undefined,
  value: ContextValue | undefined,
): Promise<ContextValueResult> {
  const { contextStateMaxBytes: maxBytes } = deps.limits;
  return deps.store.writeContextValue(scope, contextId, {
    name: key,
    replaces,
    value,
    maxBytes,
    ...log.expiry(log.now()),
  });
}

function checkKey(key: string): string {
  if (typeof key === "string" && key !== "") return key;
  const actual = typeof key === "string" ? "an empty one" : typeof key;
  throw new TypeError(`a key of turn.context is a text of one character or more, not ${actual}`);
}

function stringifyValue(key: string, value: JsonValue): string {
  const text: string | undefined = JSON.stringify(value);
  if (text !== undefined) return text;
  throw new TypeError(`${JSON.stringify(key)} in the state of a context must be JSON, not ${typeof value}`);
}

function contextStateFull(key: string, maxBytes: number): A2AError {
  return new A2AError(
    "resourceExhausted",
    `the state of the context is full: with the new value of ${JSON.stringify(key)} it has more than ${maxBytes} bytes (contextStateMaxBytes)`,
    { metadata: { limit: "contextStateMaxBytes" } },
  );
}
