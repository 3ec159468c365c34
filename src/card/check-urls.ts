import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { bindings } from "../protocol/bindings.js";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";

/** Bindings that the protocol itself defines. Two of them at one address are a mistake. */
const core: readonly JsonValue[] = bindings.filter(({ isCore }) => isCore).map(({ wire }) => wire);

/**
 * Problems of the addresses in `additionalInterfaces`, including the main one in `url`: another transport than
 * declared, two transports at one address, or none that a reader knows.
 */
export function addressProblems(version: string, card: JsonObject): readonly string[] {
  const { url, preferredTransport, additionalInterfaces } = card;
  if (!Array.isArray(additionalInterfaces)) return [];
  const locations = additionalInterfaces.filter(isJsonObject);
  const at = (address: JsonValue | undefined) =>
    locations.filter((location) => location["url"] === address).map(({ transport }) => transport ?? "");
  const problems: string[] = [];
  if (!at(url).includes(preferredTransport ?? "")) {
    const listed = at(url).join(", ") || "nothing";
    problems.push(`the card of ${version} prefers ${preferredTransport} at ${url}, where it lists ${listed}`);
  }
  for (const address of new Set(locations.map((location) => location["url"]))) {
    const transports = [...new Set(at(address).filter((transport) => core.includes(transport)))];
    if (transports.length < 2) continue;
    problems.push(
      `the card of ${version} lists ${address} as ${transports.join(" and as ")}: give each an address of its own`,
    );
  }
  if (!locations.some(({ transport }) => core.includes(transport ?? ""))) {
    problems.push(
      `the card of ${version} lists none of ${core.join(", ")}: mount one, or leave ${version} out of the versions`,
    );
  }
  return problems;
}
