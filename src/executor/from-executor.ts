import type { Agent } from "../core/agent.js";
import { isObject } from "../protocol/kinds.js";
import type { AgentExecutor, AgentExecutorV03 } from "./executor.js";
import { objectsV1 } from "./objects-v1.js";
import { objectsV03 } from "./objects-v03.js";
import { type AnyExecutor, ExecutorRun } from "./run.js";

/** Options of `fromExecutor`. */
export interface FromExecutorOptions {
  /** The release of `@a2a-js/sdk` that the executor is written for. Default: `"1"`. */
  readonly sdk?: "1" | "0.3" | undefined;
}

/**
 * Hosts an `AgentExecutor` of `@a2a-js/sdk`. Each message runs `execute`, whose published events become those of the
 * turn. An abort of the turn, by a cancel, a deadline or a shutdown, calls `cancelTask`. An error of the SDK becomes an
 * `A2AError` of the same code. One executor serves all turns. Throws a `TypeError` for anything but an executor.
 *
 * @example
 * ```ts
 * const server = await serve({ card, agent: fromExecutor(new WeatherExecutor()) });
 * console.log(`listening at ${server.url}`);
 * ```
 *
 * @example
 * ```ts
 * const server = await serve({ card, agent: fromExecutor(new OldWeatherExecutor(), { sdk: "0.3" }) });
 * console.log(`listening at ${server.url}`);
 * ```
 */
export function fromExecutor(executor: AgentExecutor, options?: { readonly sdk?: "1" | undefined }): Agent;
export function fromExecutor(executor: AgentExecutorV03, options: { readonly sdk: "0.3" }): Agent;
export function fromExecutor(
  executor: AgentExecutor | AgentExecutorV03,
  { sdk = "1" }: FromExecutorOptions = {},
): Agent {
  const objects = { "1": objectsV1, "0.3": objectsV03 }[sdk];
  if (objects === undefined)
    throw new TypeError(`fromExecutor(): sdk must be "1" or "0.3", not ${JSON.stringify(sdk)}`);
  if (!isExecutor(executor)) {
    throw new TypeError("fromExecutor() takes an object with the methods execute and cancelTask, not its class");
  }
  return (turn) => new ExecutorRun(executor, objects, turn).run();
}

// Types cannot say more: the methods take objects of their release.
function isExecutor(value: unknown): value is AnyExecutor {
  if (!isObject(value)) return false;
  return ["execute", "cancelTask"].every((name) => typeof value[name] === "function");
}
