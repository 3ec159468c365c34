import type { AgentInterface } from "../protocol/model.js";
import { parseVersion } from "../protocol/service-parameters.js";

// Facts about card interfaces that a client needs before it loads the code of their versions.

type InterfaceFacts = Pick<AgentInterface, "protocolVersion" | "protocolBinding" | "url">;

/**
 * Whether cards of other versions list the interfaces of this version. Readers of 0.1 and 0.2 use no such list; each
 * sees its own interface in its own version's card only.
 */
export function isListed(version: string): boolean {
  return version !== "0.2" && version !== "0.1";
}

/** Whether requests can name a tenant. Without this the tenant would be lost and another one called. */
export function knowsTenants({ protocolVersion }: InterfaceFacts): boolean {
  return !protocolVersion.startsWith("0.");
}

/** Whether cards state the version of each interface. Those of 0.x have one for all, which may not be true of each. */
export function declaresVersion(version: string): boolean {
  return !version.startsWith("0.");
}

/** Whether messages have ids, so that an agent can detect duplicates. */
export function knowsMessageIds({ protocolVersion }: InterfaceFacts): boolean {
  return parseVersion(protocolVersion) !== "0.1";
}

/**
 * Whether an interface is a guess: a card that may be 0.1 or 0.2 lists its interface in both. The two share most method
 * names but differ in sending.
 */
export function isGuess(candidate: InterfaceFacts, all: readonly InterfaceFacts[]): boolean {
  if (parseVersion(candidate.protocolVersion) !== "0.2") return false;
  return all.some(
    ({ protocolVersion, protocolBinding, url }) =>
      parseVersion(protocolVersion) === "0.1" && protocolBinding === candidate.protocolBinding && url === candidate.url,
  );
}
