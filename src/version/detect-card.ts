import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import { parseVersion } from "../protocol/service-parameters.js";
import type { VersionName } from "./versions.js";

// Which version a card is of, by its shape and before the code of any version is loaded.

/** Who reads a card. */
export interface CardReaders {
  readonly first: VersionName;
  /** Reads it as well, since the card says in an older form what it leaves out in the newer one. */
  readonly further?: VersionName | undefined;
}

/** The readers of a card. What is no card at all goes to the newest, who says what is wrong with it. */
export function cardReaders(json: JsonValue | undefined): CardReaders {
  if (!isJsonObject(json)) return { first: "1.0" };
  const { supportedInterfaces } = json;
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) {
    return { first: "1.0", further: isHalfTold(json) ? "0.3" : undefined };
  }
  return { first: isOld(json) ? oldVersion(json) : "1.0" };
}

const oldMembers = ["url", "preferredTransport", "additionalInterfaces", "supportsAuthenticatedExtendedCard"];

function isOld(json: JsonObject): boolean {
  return (
    oldMembers.some((name) => (json[name] ?? undefined) !== undefined) || declaredBy(json)?.startsWith("0.") === true
  );
}

function declaredBy({ protocolVersion }: JsonObject): string | undefined {
  return typeof protocolVersion === "string" ? parseVersion(protocolVersion) : undefined;
}

/** Members that came with 0.2.4, and with 0.3: a card that has them and forgets its version is taken for one of 0.3. */
const lateMembers = ["preferredTransport", "additionalInterfaces", "signatures"];
/** Members that came with 0.2. */
const middleMembers = ["securitySchemes", "security", "supportsAuthenticatedExtendedCard", "iconUrl"];

function oldVersion(json: JsonObject): VersionName {
  const declared = declaredBy(json);
  if (declared !== undefined) return declared === "0.2" || declared === "0.1" ? declared : "0.3";
  const has = (names: readonly string[]): boolean => names.some((name) => (json[name] ?? undefined) !== undefined);
  if (has(lateMembers)) return "0.3";
  // The reader of the oldest leaves open whether the card is: it is for all that nothing else speaks for.
  if (looksOldest(json)) return "0.1";
  return has(middleMembers) ? "0.2" : "0.1";
}

// Members that later versions do not have, or must have. None of it is proof.
function looksOldest({ authentication, defaultInputModes, skills }: JsonObject): boolean {
  if ((authentication ?? undefined) !== undefined || !Array.isArray(defaultInputModes)) return true;
  return Array.isArray(skills) && skills.some((skill) => isJsonObject(skill) && !isDescribed(skill));
}

function isDescribed({ description, tags }: JsonObject): boolean {
  return typeof description === "string" && Array.isArray(tags);
}

// Some agents add the interfaces of 1.0 to a card of 0.3 and leave the rest of it in the old form alone.
function isHalfTold({ security, securityRequirements, securitySchemes, capabilities, ...json }: JsonObject): boolean {
  if (typeof json["url"] !== "string") return false;
  if (Array.isArray(security) && security.length > 0 && securityRequirements === undefined) return true;
  const schemes = isJsonObject(securitySchemes) ? Object.values(securitySchemes) : [];
  if (schemes.some((scheme) => isJsonObject(scheme) && isFlat(scheme))) return true;
  const { extendedAgentCard } = isJsonObject(capabilities) ? capabilities : {};
  return json["supportsAuthenticatedExtendedCard"] === true && extendedAgentCard === undefined;
}

function isFlat(scheme: JsonObject): boolean {
  return typeof scheme["type"] === "string" && !Object.keys(scheme).some((name) => name.endsWith("SecurityScheme"));
}
