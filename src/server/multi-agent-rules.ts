import { withContradictions } from "../protocol/check/contradictions.js";
import { entries, flag, type MembersOf, object, type Rule, record } from "../protocol/check/rules.js";
import { processLimits } from "./limits.js";
import { agentMembers, listenMembers, serveContradictions } from "./option-rules.js";
import type { ServeAgentsOptions, ServedAgentOptions } from "./options.js";

// The rules for the options of servers with several agents.

const pathForm = /^\/(?!\.)[\w.~-]{0,63}$/;

/** Paths of the server itself, below which no agent can be. */
const reservedPaths: ReadonlySet<string> = new Set(["/json-rpc", "/http-json", "/healthz", "/readyz"]);

/** The path of an agent: `/`, or one segment. */
export const agentPath: Rule = (value, path) => {
  if (typeof value !== "string" || !pathForm.test(value)) {
    const actual = typeof value === "string" ? JSON.stringify(value) : typeof value;
    return [`${path} must be "/", or "/" and one segment of letters, digits and - . _ ~, not ${actual}`];
  }
  return reservedPaths.has(value)
    ? [`${path} cannot be ${JSON.stringify(value)}: the server answers there itself`]
    : [];
};

const hostForm = /^(?!.*:)[^\s/?#@]+$/;
const host: Rule = (value, path) =>
  typeof value === "string" && hostForm.test(value) && URL.canParse(`http://${value}`)
    ? []
    : [`${path} must be a host name without a port, such as "weather.example"`];

const forAll = (what: string): string => `it is one for all agents: give ${what} beside \`agents\``;

/** A limit of the process would not hold for one agent. */
const ownLimits: Rule = (value, path) => {
  const problems = agentMembers.limits.rule(value, path);
  if (problems.length > 0) return problems;
  const names = Object.keys(Object(value)).filter((name) => processLimits.has(name));
  return names.map((name) => `${path}.${name} is a limit of the whole server: give it beside \`agents\``);
};

const {
  store: _store,
  signals: _signals,
  clock: _clock,
  trustProxy: _proxies,
  allowedHosts: _allowed,
  basePath: _base,
  ...ownMembers
} = agentMembers;

const servedMembers: MembersOf<ServedAgentOptions> = {
  ...ownMembers,
  limits: { rule: ownLimits },
  hosts: { rule: entries(host) },
  grpcPort: listenMembers.grpcPort,
};

/** The options of one agent. */
export const servedRule: Rule = object(servedMembers, {
  store: forAll("the store"),
  signals: forAll("signals"),
  clock: forAll("the clock"),
  trustProxy: forAll("trustProxy"),
  allowedHosts: forAll("allowedHosts"),
  basePath: "an agent has its path as the name in `agents`",
  ...Object.fromEntries(
    Object.keys(listenMembers)
      .filter((name) => name !== "grpcPort")
      .map((name) => [name, forAll(name)]),
  ),
});

const { card: _card, agent: _agent, agentId: _agentId, ...sharedMembers } = agentMembers;

const agents: Rule = (value, path) => {
  const problems = record(servedRule)(value, path);
  return [...problems, ...Object.keys(Object(value)).flatMap((name) => agentPath(name, `a path in ${path}`))];
};

const serverMembers: MembersOf<ServeAgentsOptions> = {
  ...sharedMembers,
  ...listenMembers,
  agents: { rule: agents },
  catalogue: { rule: flag },
};

const multiAgentMembers: Rule = object(serverMembers, {
  card: "each agent has its own: give it in `agents`",
  agent: "each agent has its own: give it in `agents`",
  agentId: "each agent has its own: give it in `agents`",
});

/** The options of `serve()` for several agents. */
export const multiAgentRule: Rule = withContradictions(multiAgentMembers, serveContradictions);
