import { assertOptions } from "../../protocol/check/rules.js";
import { omitUndefined } from "../../protocol/defaults.js";
import { trimSlashes } from "../../protocol/http-rules.js";
import { type Logger, withFields } from "../../protocol/logger.js";
import { type Limits, limitProblems, processLimits } from "../limits.js";
import { loggerOf } from "../log/stderr-logger.js";
import type { AgentOptions } from "../options.js";
import type { ServeAgentsOptions, ServedAgentOptions } from "./options.js";

/** Whether an agent says by itself who may call it. */
export function hasOwnAuth({ auth, authenticate, anonymous }: ServedAgentOptions): boolean {
  return auth !== undefined || authenticate !== undefined || anonymous !== undefined;
}

/** The options of one agent, with those that hold for all. `path` is empty for the agent at the root. */
export function optionsOf(
  {
    options: shared,
    limits: serverLimits,
  }: { readonly options: ServeAgentsOptions & { readonly logger: Logger }; readonly limits: Limits },
  path: string,
  agentOptions: ServedAgentOptions,
): AgentOptions {
  const { auth, authenticate, securityDeclaration, anonymous } = hasOwnAuth(agentOptions) ? agentOptions : shared;
  const { interceptors = [], publicUrl } = shared;
  const { agents: _agents, ...serverOptions } = shared;
  return {
    ...serverOptions,
    card: agentOptions.card,
    agent: agentOptions.agent,
    agentId: path.slice(1),
    publicUrl: publicUrl === undefined ? undefined : `${trimSlashes(publicUrl)}${path}`,
    ...omitUndefined<Partial<ServedAgentOptions>>(agentOptions),
    ...{ auth, authenticate, securityDeclaration, anonymous },
    limits: mergedLimits({ ...shared.limits, ...agentOptions.limits }, serverLimits, path),
    rate: ownRate(shared.rate, agentOptions.rate),
    interceptors: [...interceptors, ...(agentOptions.interceptors ?? [])],
    logger:
      agentOptions.logger === undefined
        ? withFields(shared.logger, { agent: path || "/" })
        : loggerOf(agentOptions.logger),
    basePath: undefined,
  };
}

/** The given limits of an agent, beside those of the process as they are in force. Throws for a contradiction. */
function mergedLimits(given: Partial<Limits>, serverLimits: Limits, path: string): Partial<Limits> {
  const ofProcess = Object.fromEntries(Object.entries(serverLimits).filter(([name]) => processLimits.has(name)));
  const merged = { ...ofProcess, ...given };
  assertOptions("serve()", merged, () => limitProblems(merged, `agents["${pathOf(path)}"].limits`));
  return merged;
}

// Limits beside `agents` count for all agents together, so they are none of this one.
function ownRate(shared: AgentOptions["rate"], agentOptions: AgentOptions["rate"]): AgentOptions["rate"] {
  return shared === undefined ? agentOptions : { failedAttempts: shared.failedAttempts, ...agentOptions };
}

/** The key of a path: empty for the agent at the root. */
export function keyOf(path: string): string {
  return path === "/" ? "" : path;
}

/** The path of a key. */
export function pathOf(key: string): string {
  return key === "" ? "/" : key;
}
