import type { AgentCard } from "../../protocol/model.js";
import { parseVersion } from "../../protocol/service-parameters.js";

// Cards up to 0.3 name one main place and then all places, and say no version with them: only the places of the card's
// own version may stand there, and none behind a tenant, which these versions do not know.

/** Where an agent is, as cards up to 0.3 say it. */
export interface CardInterfaces {
  /** The main place. It is the one of JSON-RPC when there is one, since the oldest readers call it and know no other binding. */
  readonly url: string;
  readonly preferredTransport: string;
  /** Every place, the main one included. */
  readonly additionalInterfaces: readonly { readonly url: string; readonly transport: string }[];
}

/** The interfaces of a card that are of one version; `undefined` when the card lists none of it. */
export function interfacesOf({ supportedInterfaces }: AgentCard, version: string): CardInterfaces | undefined {
  const listed = supportedInterfaces
    .filter(({ protocolVersion, tenant }) => parseVersion(protocolVersion) === version && tenant === "")
    // That of gRPC stays host:port, though the text of 0.3 wants a URL: clients give it to their channel as it is.
    .map(({ url, protocolBinding: transport }) => ({ url, transport }));
  const main = listed.find(({ transport }) => transport === "JSONRPC") ?? listed[0];
  if (main === undefined) return undefined;
  return { url: main.url, preferredTransport: main.transport, additionalInterfaces: listed };
}
