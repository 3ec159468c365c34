import type { ConnectOptions } from "../client/connect.js";
import type { Client } from "../client/node.js";
import type { Agent } from "../core/agent.js";
import { createAgent, type InProcessAgent } from "../server/agent.js";
import type { AgentOptions } from "../server/options.js";
import { connectInProcess } from "./in-process-client.js";
import { type TestClock, turnUntil } from "./test-clock.js";

/** Options of the agent under test and its client. */
export interface ConnectToOptions extends Partial<Omit<AgentOptions, "agent" | "clock">> {
  /**
   * Clock of the agent and the client. Closing the agent advances it, so that nothing blocks on a timer. Default: the
   * system clock.
   */
  readonly clock?: TestClock | undefined;
  /** Options of the client: headers, retries, interceptors, … */
  readonly client?: Omit<ConnectOptions, "transports" | "prefer"> | undefined;
}

const card = { name: "Under test", description: "Does what the test says", version: "0.0.0" };

/**
 * Returns a client of an agent without a port: `await using client = await connectTo(agent)`. It has every feature of a
 * client over a port. Closing it also closes an agent passed as a function. Any other agent keeps running and keeps its
 * own options.
 */
export async function connectTo(agent: Agent | InProcessAgent, options: ConnectToOptions = {}): Promise<Client> {
  const { client: own, clock, ...parts } = options;
  const clientOptions = { ...own, clock: own?.clock ?? clock };
  if (typeof agent !== "function") return connectInProcess(agent, clientOptions);
  const mounted = await createAgent({ card, ...parts, agent, clock });
  const closeAgent = (): Promise<void> => (clock === undefined ? mounted.close(0) : turnUntil(clock, mounted.close(0)));
  try {
    const client = await connectInProcess(mounted, clientOptions);
    const closeClient = client.close.bind(client);
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= closeClient().then(closeAgent);
      return closing;
    };
    return Object.defineProperty(client, "close", { value: close });
  } catch (error) {
    await closeAgent();
    throw error;
  }
}
