import type { AgentInterface } from "../protocol/model.js";
import { parseVersion } from "../protocol/service-parameters.js";

// What a client has to know of the interfaces of a card before the code of their versions is loaded.

type Place = Pick<AgentInterface, "protocolVersion" | "protocolBinding" | "url">;

/**
 * Whether cards list the interfaces of a version for readers of any. Readers of the oldest versions look at no such list:
 * each is shown its own place by the card of its version alone.
 */
export function isListed(version: string): boolean {
  return version !== "0.2" && version !== "0.1";
}

/** Whether requests can name a tenant. A tenant that cannot be named would be left out, and another one called. */
export function knowsTenants({ protocolVersion }: Place): boolean {
  return !protocolVersion.startsWith("0.");
}

/** Whether messages have ids, so that an agent can know one again. */
export function knowsMessageIds({ protocolVersion }: Place): boolean {
  return parseVersion(protocolVersion) !== "0.1";
}

/**
 * Whether an interface is listed for a guess: a card that leaves open which of the two oldest versions it is of lists its
 * place in both. They share the names of most methods, and part over sending.
 */
export function isGuess(place: Place, all: readonly Place[]): boolean {
  if (parseVersion(place.protocolVersion) !== "0.2") return false;
  return all.some(
    ({ protocolVersion, protocolBinding, url }) =>
      parseVersion(protocolVersion) === "0.1" && protocolBinding === place.protocolBinding && url === place.url,
  );
}
