import type { AuthOptions } from "../auth/auth-options.js";
import type { CorsOptions } from "../binding/http/cors.js";
import { tlsRule } from "../binding/listen/tls-rule.js";
import { basePathRule } from "../card/urls.js";
import type { ConversationOptions } from "../core/conversation/log.js";
import { bindingNames } from "../protocol/bindings.js";
import { type Contradiction, withContradictions } from "../protocol/check/contradictions.js";
import { removedOptions } from "../protocol/check/former-options.js";
import {
  amount,
  anyObject,
  clock,
  count,
  entries,
  flag,
  func,
  jsonObject,
  limits,
  logger,
  type Member,
  type MembersOf,
  object,
  oneOf,
  part,
  type Rule,
  record,
  string,
  text,
  valueOr,
  whole,
  withMethods,
} from "../protocol/check/rules.js";
import { rateMembers } from "../rates/check.js";
import type { MetricsOptions, TelemetryOptions } from "../telemetry/options.js";
import { versionNames } from "../version/versions.js";
import { defaultLimits, type Limits, limitProblems, limitRules } from "./limits.js";
import type {
  AgentOptions,
  AuthDeclaration,
  BaseServerOptions,
  ListenOptions,
  PushOptions,
  VersionSettings,
} from "./options.js";
import type { OverloadMeasure } from "./overload/limits.js";

// The rule for each option. Unknown options are refused, since they would have no effect.

const port = { rule: count(65_535) };
const names: Member = { rule: entries(text) };

/** A list follows one rule, anything else another. */
const listOr = (list: Rule, other: Rule): Rule => {
  return (value, path) => (Array.isArray(value) ? list : other)(value, path);
};

const storeRule = withMethods(
  "a store, such as memoryTaskStore() or sqliteStore()",
  "create",
  "append",
  "read",
  "renew",
);

const cors: MembersOf<CorsOptions> = {
  origins: { rule: valueOr("*", entries(text)), missing: "list the origins whose pages may call" },
  allowHeaders: names,
  exposeHeaders: names,
  credentials: { rule: flag },
  maxAgeSeconds: { rule: amount },
};

const versionList = entries(oneOf(...versionNames));
const versions: MembersOf<VersionSettings> = {
  served: { rule: versionList },
  strict: { rule: flag },
  fileBytes: { rule: oneOf("base64", "raw") },
};

const conversations: MembersOf<ConversationOptions> = {
  keepMs: { rule: amount },
  maxEntries: { rule: whole(0) },
};

/** Names of schemes, or scopes by the names of schemes. */
const anyAlternative: Rule = listOr(entries(text), record(entries(text)));

const push: MembersOf<PushOptions> = {
  allow: {
    rule: listOr(entries(text), oneOf("public", "loopback")),
    missing: 'say which addresses webhooks may have: "public", "loopback" or a list',
  },
  events: { rule: oneOf("all", "milestones") },
  store: { rule: withMethods("a push store", "set", "list", "adopt") },
};

const auth: MembersOf<AuthOptions> = {
  schemes: { rule: anyObject, missing: "declare at least one scheme, such as bearerJwt() of trivium/auth" },
  require: { rule: entries(anyAlternative) },
  operations: { rule: record(entries(anyAlternative)) },
  skills: { rule: record(entries(anyAlternative)) },
  skillOf: { rule: func },
  principal: { rule: func },
  keepClaims: { rule: listOr(entries(text), flag) },
};

const metrics: MembersOf<MetricsOptions> = {
  port: { ...port, missing: "say on which port metrics are served" },
  host: { rule: text },
};

const telemetry: MembersOf<TelemetryOptions> = {
  metrics: { rule: object(metrics) },
  exceptions: { rule: oneOf("full", "type") },
};

const securityDeclaration: MembersOf<AuthDeclaration> = {
  schemes: { rule: record(jsonObject), missing: "declare at least one scheme, in the JSON form of a 1.0 card" },
  require: auth.require,
  skills: auth.skills,
};

const limitsToSwitchOff: Readonly<Record<OverloadMeasure, Rule>> = {
  heapMaxRatio: valueOr(false, part),
  containerMaxRatio: valueOr(false, part),
  eventLoopMaxMs: valueOr(false, whole(1)),
};

const singleLimits = limits(defaultLimits, { ...limitRules, ...limitsToSwitchOff }, removedOptions);

/** Checks each limit by itself, and then whether limits contradict each other. */
const serverLimits: Rule = (value, path) => {
  const problems = singleLimits(value, path);
  return problems.length > 0 ? problems : limitProblems(value as Partial<Limits>, path);
};

export const baseServerMembers: MembersOf<BaseServerOptions> = {
  bindings: { rule: entries(oneOf(...bindingNames)) },
  auth: { rule: object(auth) },
  authenticate: { rule: func },
  securityDeclaration: { rule: object(securityDeclaration) },
  interceptors: { rule: entries(func) },
  anonymous: { rule: oneOf("shared") },
  logger: { rule: logger },
  accessLog: { rule: flag },
  telemetry: { rule: valueOr(true, valueOr(false, object(telemetry))) },
  limits: { rule: serverLimits },
  rate: { rule: object(rateMembers) },
  versions: { rule: listOr(versionList, object(versions)) },
  allowedHosts: names,
  cors: { rule: object(cors) },
  publicUrl: { rule: text },
  publicGrpc: { rule: text },
  trustProxy: { rule: listOr(entries(text), flag) },
  basePath: { rule: basePathRule },
  clock: { rule: clock },
};

/** Time that passes before a server refuses work: one that never does would never close. */
const passing: Rule = (value, path) =>
  value === Number.POSITIVE_INFINITY
    ? [`${path} must be a number of milliseconds, not Infinity: the server would never close`]
    : amount(value, path);

/** Two listeners of a server on one port, where neither is any free one (0). */
const sharesPort = (name: string, other: string, { of, remedy }: SharedPort): Contradiction => {
  return (given) => {
    const [port, otherPort] = of(given);
    if (port === undefined || port === 0 || port !== otherPort) return undefined;
    return `${name} and ${other} are both ${port}: ${remedy}`;
  };
};

interface SharedPort {
  /** The two ports. */
  readonly of: (given: Partial<ListenOptions & BaseServerOptions>) => readonly [number | undefined, number | undefined];
  readonly remedy: string;
}

/** The port of metrics, if they have the address of the server. */
const metricsPort = ({ telemetry, host }: Partial<ListenOptions & BaseServerOptions>): number | undefined => {
  const metrics = typeof telemetry === "object" ? telemetry.metrics : undefined;
  return (metrics?.host ?? loopback) === (host ?? loopback) ? metrics?.port : undefined;
};

const loopback = "127.0.0.1";

/** Options of `serve()` beside `limits` that contradict each other. */
export const serveContradictions: readonly Contradiction[] = [
  sharesPort("grpcPort", "port", {
    of: ({ grpcPort, port }) => [grpcPort, port],
    remedy: "leave grpcPort out, and gRPC shares the port",
  }),
  sharesPort("telemetry.metrics.port", "port", {
    of: (given) => [metricsPort(given), given.port],
    remedy: "give metrics another port",
  }),
  sharesPort("telemetry.metrics.port", "grpcPort", {
    of: (given) => [metricsPort(given), given.grpcPort],
    remedy: "give metrics another port",
  }),
];

export const listenMembers: MembersOf<ListenOptions> = {
  port,
  host: { rule: text },
  grpcPort: port,
  reflection: { rule: flag },
  tls: { rule: tlsRule },
  app: { rule: withMethods("a Koa app", "callback") },
  lameDuckMs: { rule: passing },
  drainMs: { rule: amount },
  handleSignals: { rule: flag },
};

export const agentMembers: MembersOf<AgentOptions> = {
  ...baseServerMembers,
  card: { rule: anyObject, missing: "give at least its name, description and version" },
  agent: { rule: func, missing: "give a function of a turn" },
  agentId: { rule: string },
  restartable: { rule: flag },
  deadlines: { rule: oneOf("wait", "abort") },
  tenants: names,
  store: { rule: storeRule },
  conversations: { rule: valueOr(false, object(conversations)) },
  push: { rule: object(push) },
  signals: { rule: withMethods("signals with publish() and subscribe()", "publish", "subscribe") },
};

const isOfServe = "it is an option of serve(), an agent that is mounted has no port of its own";

/** The options of `serve()`. */
export const serveRule: Rule = withContradictions(object({ ...agentMembers, ...listenMembers }), serveContradictions);

/** The options of `createAgent()`. */
export const mountedRule: Rule = object(
  agentMembers,
  Object.fromEntries(Object.keys(listenMembers).map((name) => [name, isOfServe])),
);
