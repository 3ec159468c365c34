import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import { parseVersion } from "../protocol/service-parameters.js";
import type { VersionName } from "./versions.js";

// Detects the version of a card by its shape, before the code of any version is loaded.

/** The versions that read a card. */
export interface CardReaders {
  readonly reader: VersionName;
  /** Also reads the card, for what it states only in an older form. */
  readonly secondReader?: VersionName | undefined;
}

/**
 * Returns the readers of a card. Anything that is not a card goes to the newest version, which reports what is wrong.
 */
export function cardReaders(json: JsonValue | undefined): CardReaders {
  if (!isJsonObject(json)) return { reader: "1.0" };
  const { supportedInterfaces } = json;
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) {
    return { reader: "1.0", secondReader: isHalfUpgraded(json) ? "0.3" : undefined };
  }
  return { reader: isOld(json) ? oldVersion(json) : "1.0" };
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

/** Members added in 0.2.4 and 0.3. A card that has one and declares no version counts as 0.3. */
const lateMembers = ["preferredTransport", "additionalInterfaces", "signatures"];
/** Members added in 0.2. */
const middleMembers = ["securitySchemes", "security", "supportsAuthenticatedExtendedCard", "iconUrl"];

function oldVersion(json: JsonObject): VersionName {
  const version = declaredBy(json);
  if (version !== undefined) return version === "0.2" || version === "0.1" ? version : "0.3";
  const has = (names: readonly string[]): boolean => names.some((name) => (json[name] ?? undefined) !== undefined);
  if (has(lateMembers)) return "0.3";
  // The 0.1 reader leaves open whether a card is 0.1 or 0.2, so 0.1 is the default.
  if (looksOldest(json)) return "0.1";
  return has(middleMembers) ? "0.2" : "0.1";
}

// Members that later versions lack or require. None of this is proof.
function looksOldest({ authentication, defaultInputModes, skills }: JsonObject): boolean {
  if ((authentication ?? undefined) !== undefined || !Array.isArray(defaultInputModes)) return true;
  return Array.isArray(skills) && skills.some((skill) => isJsonObject(skill) && !isDescribed(skill));
}

function isDescribed({ description, tags }: JsonObject): boolean {
  return typeof description === "string" && Array.isArray(tags);
}

// Some agents add the 1.0 interfaces to a 0.3 card and leave the rest in the old form.
function isHalfUpgraded({
  security,
  securityRequirements,
  securitySchemes,
  capabilities,
  ...json
}: JsonObject): boolean {
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
