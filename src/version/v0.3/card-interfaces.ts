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
    .map(({ url, protocolBinding: transport }) => ({
      url: transport === "GRPC" ? grpcUrl(url, supportedInterfaces) : url,
      transport,
    }));
  const main = listed.find(({ transport }) => transport === "JSONRPC") ?? listed[0];
  if (main === undefined) return undefined;
  return { url: main.url, preferredTransport: main.transport, additionalInterfaces: listed };
}

/**
 * The address of gRPC as these versions write it, with a scheme. One that has none takes that of the agent's other
 * addresses: of one on the same host if there is one. An agent that has gRPC alone is taken to use TLS, unless nobody
 * but its own machine can call it.
 */
function grpcUrl(address: string, others: AgentCard["supportedInterfaces"]): string {
  const scheme = /^(https?|grpcs?):\/{2,3}/i.exec(address);
  if (scheme !== null) return `${isTls(scheme[0]) ? "https" : "http"}://${address.slice(scheme[0].length)}`;
  const host = URL.parse(`http://${address}`)?.hostname ?? "";
  const urls = others.flatMap(({ url }) => (/^https?:\/\//i.test(url) ? (URL.parse(url) ?? []) : []));
  const protocol = (urls.find(({ hostname }) => hostname === host) ?? urls[0])?.protocol;
  const secure = protocol === undefined ? !isLoopback(host) : isTls(protocol);
  return `${secure ? "https" : "http"}://${address}`;
}

function isTls(scheme: string): boolean {
  return /^(?:https|grpcs):/i.test(scheme);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}
