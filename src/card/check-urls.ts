import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { bindings } from "../protocol/bindings.js";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";

/** Bindings that the protocol itself defines. Two of them at one address are a mistake. */
const coreBindings: readonly JsonValue[] = bindings.filter(({ isCore }) => isCore).map(({ wire }) => wire);

/**
 * Problems of the addresses in `additionalInterfaces`, including the main one in `url`: another transport than declared, two
 * transports at one address, or no transport of the protocol.
 */
export function addressProblems(version: string, card: JsonObject): readonly string[] {
  const { url, preferredTransport, additionalInterfaces } = card;
  if (!Array.isArray(additionalInterfaces)) return [];
  const locations = additionalInterfaces.filter(isJsonObject);
  const transportsAt = (address: JsonValue | undefined) =>
    locations.filter((location) => location["url"] === address).map(({ transport }) => transport ?? "");
  const problems: string[] = [];
  if (!transportsAt(url).includes(preferredTransport ?? "")) {
    const transportsAtUrl = transportsAt(url).join(", ") || "nothing";
    problems.push(`the card of ${version} prefers ${preferredTransport} at ${url}, where it lists ${transportsAtUrl}`);
  }
  for (const address of new Set(locations.map((location) => location["url"]))) {
    const transports = [...new Set(transportsAt(address).filter((transport) => coreBindings.includes(transport)))];
    if (transports.length < 2) continue;
    problems.push(
      `the card of ${version} lists ${address} as ${transports.join(" and as ")}: give each an address of its own`,
    );
  }
  if (!locations.some(({ transport }) => coreBindings.includes(transport ?? ""))) {
    problems.push(
      `the card of ${version} lists none of ${coreBindings.join(", ")}: mount one, or leave ${version} out of the versions`,
    );
  }
  return problems;
}
