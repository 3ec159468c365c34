import { bindingNames } from "../protocol/bindings.js";
import {
  amount,
  anyObject,
  clock,
  entries,
  flag,
  func,
  limits,
  type MembersOf,
  object,
  oneOf,
  type Rule,
  record,
  string,
  text,
  valueOr,
  whole,
  withMethods,
} from "../protocol/check/rules.js";
import { versionNames } from "../version/versions.js";
import { type ClientOptions, type ConnectOptions, defaultClientLimits } from "./options.js";
import type { RetryOptions } from "./retrying.js";

const retry: MembersOf<RetryOptions> = {
  maxAttempts: { rule: whole(1) },
  unsentMs: { rule: amount },
  firstPauseMs: { rule: amount },
  maxPauseMs: { rule: amount },
  maxRetryAfterMs: { rule: amount },
  budget: { rule: amount },
};

/** Limits that became constants. */
const removedOptions = {
  probeTimeoutMs: "it is fixed at 10 s since 0.2",
  snapshotTimeoutMs: "it is fixed at 5 s since 0.2",
};

const origin: Rule = (value, path) =>
  typeof value === "string" && URL.parse(value)?.origin === value
    ? []
    : [`${path} must be an origin such as "https://agent.example"`];

/** The name of a binding, or the URI of one of the caller's own. */
const preferred: Rule = (value, path) =>
  typeof value === "string" && /^[a-z][a-z\d+.-]*:/i.test(value) ? [] : oneOf(...bindingNames)(value, path);

const credentials: Rule = (value, path) => (typeof value === "function" ? [] : anyObject(value, path));
const transport = withMethods("a transport with create()", "create");

/** The rule for each option of a client. Unknown options are refused. */
export const clientMembers: MembersOf<ClientOptions> = {
  prefer: { rule: entries(preferred) },
  versions: { rule: entries(oneOf(...versionNames)) },
  fileBytes: { rule: oneOf("base64", "raw") },
  credentials: { rule: credentials },
  onAuthRequired: { rule: func },
  telemetry: { rule: object({ exceptions: { rule: oneOf("full", "type") } }) },
  headers: { rule: record(string) },
  extensions: { rule: entries(text) },
  sendOnce: { rule: flag },
  timeoutMs: { rule: amount },
  retry: { rule: valueOr(false, object(retry)) },
  onRetry: { rule: func },
  interceptors: { rule: entries(func) },
  transports: { rule: entries(transport) },
  onConnection: { rule: func },
  extendedCard: { rule: flag },
  cardCache: { rule: valueOr(false, withMethods("a cache of cards", "get", "set")) },
  allowPrivate: { rule: flag },
  trustedOrigins: { rule: entries(origin) },
  allowPlaintext: { rule: flag },
  tls: { rule: object({ ca: { rule: text }, cert: { rule: text }, key: { rule: text } }) },
  grpcTls: { rule: flag },
  limits: { rule: limits(defaultClientLimits, {}, removedOptions) },
  fetch: { rule: func },
  logger: { rule: valueOr(false, withMethods("a logger such as pino's", "debug")) },
  clock: { rule: clock },
};

/** The options of `Client.connect()`. */
export const connectRule: Rule = object({
  ...clientMembers,
  signal: { rule: withMethods("an AbortSignal", "addEventListener", "throwIfAborted") },
} satisfies MembersOf<ConnectOptions>);
