import { Client } from "../client/node.js";
import type { ConnectOptions } from "../client/options.js";
import type { TransportFactory } from "../client/transports.js";
import { inProcessBinding } from "../protocol/bindings.js";
import type { AgentCard } from "../protocol/model.js";
import type { InProcessAgent } from "../server/agent.js";

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
    $typeName: "lf.a2a.v1.AgentInterface" as const,
    url,
    protocolBinding: inProcessBinding,
    protocolVersion,
    tenant: "",
  }));
  return { ...card, supportedInterfaces };
}
