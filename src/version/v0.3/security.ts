import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../../protocol/codec/outline/dynamic.js";

// Security in cards up to 0.3. A scheme names its kind in `type`, where 1.0 has a member per kind. An OAuth scheme has
// several flows, where 1.0 has one. A requirement lists scopes without wrappers. Both forms are JSON here.

interface Kind {
  readonly type: string;
  /** The member in 1.0. */
  readonly member: string;
  /** Converts the flat form to the content of that member. */
  readonly read?: (scheme: JsonObject) => JsonObject;
  readonly write?: (scheme: JsonObject) => JsonObject;
}

const kinds: readonly Kind[] = [
  {
    type: "apiKey",
    member: "apiKeySecurityScheme",
    read: ({ in: location = "header", ...scheme }) => ({ ...scheme, location }),
    write: ({ location = "", ...scheme }) => ({ ...scheme, in: location }),
  },
  { type: "http", member: "httpAuthSecurityScheme" },
  {
    type: "oauth2",
    member: "oauth2SecurityScheme",
    read: ({ flows, ...scheme }) => ({ ...scheme, flows: oneFlow(flows) }),
    write: ({ flows, ...scheme }) => ({ ...scheme, flows: flatFlows(flows) }),
  },
  { type: "openIdConnect", member: "openIdConnectSecurityScheme" },
  { type: "mutualTLS", member: "mtlsSecurityScheme" },
];

/**
 * Returns the `securitySchemes` of a card in the form of 1.0. A scheme already in that form is kept; one of an unknown
 * kind becomes empty under its name.
 */
export function readSchemes(schemes: JsonValue | undefined): JsonObject {
  return mapMembers(schemes, (scheme) => {
    if (!isJsonObject(scheme)) return {};
    const { type, ...flat } = scheme;
    const kind = kinds.find((each) => typeof type === "string" && each.type.toLowerCase() === type.toLowerCase());
    if (kind !== undefined) return { [kind.member]: kind.read?.(flat) ?? flat };
    const newerKind = kinds.find(({ member }) => isJsonObject(scheme[member]));
    return newerKind === undefined ? {} : { [newerKind.member]: scheme[newerKind.member] ?? {} };
  });
}

/** Returns the `securitySchemes` of 1.0 in the flat form. */
export function writeSchemes(schemes: JsonValue | undefined): JsonObject {
  return mapMembers(schemes, (scheme) => {
    if (!isJsonObject(scheme)) return undefined;
    const kind = kinds.find(({ member }) => isJsonObject(scheme[member]));
    const content = kind === undefined ? undefined : scheme[kind.member];
    return kind === undefined || !isJsonObject(content)
      ? undefined
      : { type: kind.type, ...(kind.write?.(content) ?? content) };
  });
}

// 1.0 has one flow: prefers the one that asks the user, and the deprecated ones least.
const flowOrder = ["authorizationCode", "clientCredentials", "implicit", "password", "deviceCode"] as const;

function oneFlow(flows: JsonValue | undefined): JsonObject {
  if (!isJsonObject(flows)) return {};
  const name = flowOrder.find((each) => isJsonObject(flows[each]));
  return name === undefined ? {} : { [name]: flows[name] ?? {} };
}

// Required members, which 1.0 omits when they are empty.
const flowMembers: Readonly<Record<string, JsonObject>> = {
  authorizationCode: {},
  clientCredentials: {},
  implicit: { authorizationUrl: "", scopes: {} },
  password: { tokenUrl: "", scopes: {} },
};

function flatFlows(flows: JsonValue | undefined): JsonObject {
  return mapMembers(flows, (flow, name) => {
    const members = flowMembers[name];
    if (members === undefined || !isJsonObject(flow)) return undefined;
    const { pkceRequired: _, ...rest } = flow;
    return { ...members, ...rest };
  });
}

/** Returns `security` in the form of 1.0. A requirement already in that form is kept. */
export function readRequirements(security: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(security)) return [];
  return security.filter(isJsonObject).map((requirement) => {
    // In the flat form a scheme named `schemes` has a list, not an object.
    if (isJsonObject(requirement["schemes"])) return requirement;
    return { schemes: mapMembers(requirement, (scopes) => ({ list: Array.isArray(scopes) ? scopes : [] })) };
  });
}

/** Returns the `securityRequirements` of 1.0 as `security`. */
export function writeRequirements(requirements: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(requirements)) return [];
  return requirements
    .filter(isJsonObject)
    .map(({ schemes }) => mapMembers(schemes, (scopes) => (isJsonObject(scopes) ? (scopes["list"] ?? []) : [])));
}

function mapMembers(
  json: JsonValue | undefined,
  change: (value: JsonValue, name: string) => JsonValue | undefined,
): JsonObject {
  const result: JsonObject = {};
  if (!isJsonObject(json)) return result;
  for (const [name, value] of Object.entries(json)) {
    const newValue = change(value, name);
    if (newValue !== undefined) setOwn(result, name, newValue);
  }
  return result;
}
