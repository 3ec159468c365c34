import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../../protocol/codec/outline/dynamic.js";

// Security in cards up to 0.3: a scheme says its kind in `type`, where 1.0 has a member for each kind; an OAuth scheme has
// several flows, where 1.0 has one; and a requirement lists scopes without the wrappers. Both forms are JSON here.

interface Kind {
  readonly type: string;
  /** The member of 1.0. */
  readonly member: string;
  /** What it holds in 1.0, made of the flat form. */
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
 * The `securitySchemes` of a card in the form of 1.0. A scheme that has this form already is left as it is, and one of a
 * unknown kind stays under its name without a description.
 */
export function readSchemes(schemes: JsonValue | undefined): JsonObject {
  return mapMembers(schemes, (scheme) => {
    if (!isJsonObject(scheme)) return {};
    const { type, ...flat } = scheme;
    const kind = kinds.find((each) => typeof type === "string" && each.type.toLowerCase() === type.toLowerCase());
    if (kind !== undefined) return { [kind.member]: kind.read?.(flat) ?? flat };
    const wrapped = kinds.find(({ member }) => isJsonObject(scheme[member]));
    return wrapped === undefined ? {} : { [wrapped.member]: scheme[wrapped.member] ?? {} };
  });
}

/** The `securitySchemes` of 1.0 in the flat form. */
export function writeSchemes(schemes: JsonValue | undefined): JsonObject {
  return mapMembers(schemes, (scheme) => {
    if (!isJsonObject(scheme)) return undefined;
    const kind = kinds.find(({ member }) => isJsonObject(scheme[member]));
    const held = kind === undefined ? undefined : scheme[kind.member];
    return kind === undefined || !isJsonObject(held) ? undefined : { type: kind.type, ...(kind.write?.(held) ?? held) };
  });
}

// Of several flows the one that asks the user comes first; those that may not be used any more come last.
const flowOrder = ["authorizationCode", "clientCredentials", "implicit", "password", "deviceCode"] as const;

function oneFlow(flows: JsonValue | undefined): JsonObject {
  if (!isJsonObject(flows)) return {};
  const name = flowOrder.find((each) => isJsonObject(flows[each]));
  return name === undefined ? {} : { [name]: flows[name] ?? {} };
}

// Members that must be there, also where 1.0 leaves them out when they are empty.
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
    const { pkceRequired: _, ...known } = flow;
    return { ...members, ...known };
  });
}

/** `security` in the form of 1.0; a requirement that has it already is left as it is. */
export function readRequirements(security: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(security)) return [];
  return security.filter(isJsonObject).map((requirement) => {
    // A scheme may be called `schemes`; its scopes are a list then.
    if (isJsonObject(requirement["schemes"])) return requirement;
    return { schemes: mapMembers(requirement, (scopes) => ({ list: Array.isArray(scopes) ? scopes : [] })) };
  });
}

/** The `securityRequirements` of 1.0 as `security`. */
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
  const mapped: JsonObject = {};
  if (!isJsonObject(json)) return mapped;
  for (const [name, value] of Object.entries(json)) {
    const changed = change(value, name);
    if (changed !== undefined) setOwn(mapped, name, changed);
  }
  return mapped;
}
