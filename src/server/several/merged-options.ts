import { trimmed } from "../../protocol/http-rules.js";
import { type Logger, withFields } from "../../protocol/logger.js";
import { loggerOf } from "../log/stderr-logger.js";
import type { AgentOptions } from "../options.js";
import type { ServeAgentsOptions, ServedAgentOptions } from "./options.js";

/** Whether an agent says by itself who may call it. */
export function hasOwnAuth({ auth, authenticate, anonymous }: ServedAgentOptions): boolean {
  return auth !== undefined || authenticate !== undefined || anonymous !== undefined;
}

/** The options of one agent, with those that hold for all. `path` is empty for the agent at the root. */
export function optionsOf(
  { options: shared }: { readonly options: ServeAgentsOptions & { readonly logger: Logger } },
  path: string,
  own: ServedAgentOptions,
): AgentOptions {
  const { auth, authenticate, declares, anonymous } = hasOwnAuth(own) ? own : shared;
  const { interceptors = [], publicUrl } = shared;
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const { agents: _agents, ...all } = shared;
  return {
    ...all,
    card: own.card,
    agent: own.agent,
    agentId: path.slice(1),
    publicUrl: publicUrl === undefined ? undefined : `${trimmed(publicUrl)}${path}`,
    ...given,
    ...{ auth, authenticate, declares, anonymous },
    limits: { ...shared.limits, ...own.limits },
    rate: ownRate(shared.rate, own.rate),
    interceptors: [...interceptors, ...(own.interceptors ?? [])],
    logger: own.logger === undefined ? withFields(shared.logger, { agent: path || "/" }) : loggerOf(own.logger),
    basePath: undefined,
  };
}

// Limits beside `agents` count for all agents together, so they are none of this one.
function ownRate(shared: AgentOptions["rate"], own: AgentOptions["rate"]): AgentOptions["rate"] {
  return shared === undefined ? own : { failedAttempts: shared.failedAttempts, ...own };
}

/** The key of a path: empty for the agent at the root. */
export function keyOf(path: string): string {
  return path === "/" ? "" : path;
}

/** The path of a key. */
export function pathOf(key: string): string {
  return key === "" ? "/" : key;
}
