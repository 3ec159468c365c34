import type { AgentCard } from "../../protocol/model.js";
import { parseVersion } from "../../protocol/service-parameters.js";

// Cards up to 0.3 list one main interface and then all interfaces, without their versions. So they may only list
// interfaces of the card's own version, and none with a tenant, which these versions lack.

/** The interfaces of an agent, in the form of cards up to 0.3. */
export interface CardInterfaces {
  /** URL of the main interface: JSON-RPC if the agent has it, since the oldest readers know no other binding. */
  readonly url: string;
  readonly preferredTransport: string;
  /** Every interface, including the main one. */
  readonly additionalInterfaces: readonly { readonly url: string; readonly transport: string }[];
}

/** Returns the interfaces of one version, or `undefined` if the card lists none. */
export function listInterfaces({ supportedInterfaces }: AgentCard, version: string): CardInterfaces | undefined {
  const interfaces = supportedInterfaces
    .filter(({ protocolVersion, tenant }) => parseVersion(protocolVersion) === version && tenant === "")
    // The gRPC address stays `host:port`, although the text of 0.3 requires a URL: clients pass it to their channel as
    // it is.
    .map(({ url, protocolBinding: transport }) => ({ url, transport }));
  const main = interfaces.find(({ transport }) => transport === "JSONRPC") ?? interfaces[0];
  if (main === undefined) return undefined;
  return { url: main.url, preferredTransport: main.transport, additionalInterfaces: interfaces };
}
