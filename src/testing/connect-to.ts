import { Client } from "../client/node.js";
import { connectRule } from "../client/option-rules.js";
import type { ConnectOptions } from "../client/options.js";
import type { TransportFactory } from "../client/transports.js";
import type { Agent } from "../core/agent.js";
import { inProcessBinding } from "../protocol/bindings.js";
import { renameOptions } from "../protocol/check/former-options.js";
import { anyObject, assertOptions, clock as clockRule, type MembersOf, object } from "../protocol/check/rules.js";
import { type AgentCard, typeNames } from "../protocol/model.js";
import { createAgent, type InProcessAgent } from "../server/agent.js";
import { agentMembers } from "../server/option-rules.js";
import type { AgentOptions } from "../server/options.js";
import { type TestClock, turnUntil } from "./test-clock.js";

/** Options of the agent under test and its client. */
export interface ConnectToOptions extends Partial<Omit<AgentOptions, "agent" | "clock">> {
  /**
   * Clock of the agent and the client. Closing the agent advances it, so that nothing waits for a timer. Default: the
   * system clock.
   */
  readonly clock?: TestClock | undefined;
  /** Options of the client: headers, retries, interceptors, … */
  readonly client?: Omit<ConnectOptions, "transports" | "prefer"> | undefined;
}

const { agent: _agent, card: _card, ...agentParts } = agentMembers;
const clientParts = { clock: { rule: clockRule }, client: { rule: connectRule } };

const functionRule = object({
  ...agentParts,
  card: { rule: anyObject },
  ...clientParts,
} satisfies MembersOf<ConnectToOptions>);

const hasOwn = "an agent that runs already has its own";
const agentRule = object(clientParts, Object.fromEntries(Object.keys(agentMembers).map((name) => [name, hasOwn])));

const card = { name: "Under test", description: "Does what the test says", version: "0.0.0" };

/**
 * Returns a client of an agent, without a port. It has every feature of a client over a port. Closing it also closes an
 * agent passed as a function; any other agent keeps running with its own options. Rejects with a `TypeError` for wrong
 * options.
 *
 * @example
 * ```ts
 * it("shouts", async () => {
 *   await using client = await connectTo(agent);
 *   const answer = await client.send("hello");
 *   assert.equal(answer.text, "HELLO");
 * });
 * ```
 */
export async function connectTo(agent: Agent | InProcessAgent, options: ConnectToOptions = {}): Promise<Client> {
  const presentOptions = renameOptions("connectTo()", options);
  assertOptions("connectTo()", presentOptions, typeof agent === "function" ? functionRule : agentRule);
  const { client, clock, ...parts } = presentOptions;
  const clientOptions = { ...client, clock: client?.clock ?? clock };
  if (typeof agent !== "function") return connectInProcess(agent, clientOptions);
  const mountedAgent = await createAgent({ card, ...parts, agent, clock });
  const closeAgent = (): Promise<void> =>
    clock === undefined ? mountedAgent.close(0) : turnUntil(clock, mountedAgent.close(0));
  try {
    const connectedClient = await connectInProcess(mountedAgent, clientOptions);
    const closeClient = connectedClient.close.bind(connectedClient);
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= closeClient().then(closeAgent);
      return closing;
    };
    return Object.defineProperty(connectedClient, "close", { value: close });
  } catch (error) {
    await closeAgent();
    throw error;
  }
}

// Never called. Secrets may be sent to it, since it is the local machine.
const url = "http://in-process.localhost";

/** Connects a client to an agent in the same process. It opens no port and calls nothing else. */
export function connectInProcess(agent: InProcessAgent, options: ConnectOptions): Promise<Client> {
  const transport: TransportFactory = {
    binding: inProcessBinding,
    create: ({ version }, { headers }) => {
      const calls = agent.inProcess({ version, headers });
      return {
        ...calls,
        getExtendedAgentCard: async (request, call) => hereOnly(await calls.getExtendedAgentCard(request, call)),
      };
    },
  };
  return Client.connect(hereOnly(agent.card), { ...options, transports: [transport] });
}

/** Returns a card with one in-process interface. It exchanges model objects in every version. */
function hereOnly(card: AgentCard): AgentCard {
  const supportedInterfaces = card.supportedInterfaces.slice(0, 1).map(({ protocolVersion }) => ({
    $typeName: typeNames.AgentInterface,
    url,
    protocolBinding: inProcessBinding,
    protocolVersion,
    tenant: "",
  }));
  return { ...card, supportedInterfaces };
}
