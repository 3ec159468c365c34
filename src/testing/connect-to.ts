import type { ConnectOptions } from "../client/connect.js";
import type { Client } from "../client/node.js";
import type { Agent } from "../core/agent.js";
import { createAgent, type InProcessAgent } from "../server/agent.js";
import type { AgentOptions } from "../server/options.js";
import { connectInProcess } from "./in-process-client.js";
import { type TestClock, turnUntil } from "./test-clock.js";

/** What an agent under test is made of, beside itself. */
export interface ConnectToOptions extends Partial<Omit<AgentOptions, "agent" | "clock">> {
  /** Time of the agent and of the client. It is turned on while the agent is closed, so that nothing waits for it. Default: the machine's. */
  readonly clock?: TestClock | undefined;
  /** Options of the client: headers, retries, interceptors, … */
  readonly client?: Omit<ConnectOptions, "transports" | "prefer"> | undefined;
}

const card = { name: "Under test", description: "Does what the test says", version: "0.0.0" };

/**
 * Gives a client of an agent without a port: `await using client = await connectTo(agent)`. It does all that a client over
 * a port does. Closing it closes an agent that was given as a function; another one goes on, and keeps its own options.
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
