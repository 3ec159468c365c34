import { clone } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type SecurityRequirement,
  type SecurityScheme,
  typeNames,
} from "../protocol/model.js";

/** Which abilities of the agent the gateway passes on. */
export interface ForwardedCapabilities {
  /** Lower-case names of the callers' headers that are sent to the agent. */
  readonly forward: ReadonlySet<string>;
  readonly pushNotifications: boolean;
  readonly extendedAgentCard: boolean;
}

/**
 * The agent's card as its gateway publishes it, without interfaces. Signatures are omitted, since they cover another
 * card. Security schemes stay if the callers' headers reach the agent.
 */
export function gatewayCard(
  card: AgentCard,
  { forward, pushNotifications, extendedAgentCard }: ForwardedCapabilities,
): AgentCard {
  const copy = clone(AgentCardSchema, card);
  const reaches = (scheme: SecurityScheme | undefined): boolean => forward.has(findHeader(scheme) ?? "");
  const schemes = Object.entries(copy.securitySchemes).filter(([, scheme]) => reaches(scheme));
  const names = new Set(schemes.map(([name]) => name));
  const filterRequirements = (requirements: readonly SecurityRequirement[]): SecurityRequirement[] =>
    requirements.filter(({ schemes }) => Object.keys(schemes).every((name) => names.has(name)));
  copy.supportedInterfaces = [];
  copy.signatures = [];
  copy.securitySchemes = Object.fromEntries(schemes);
  copy.securityRequirements = filterRequirements(copy.securityRequirements);
  for (const skill of copy.skills) skill.securityRequirements = filterRequirements(skill.securityRequirements);
  copy.capabilities = {
    $typeName: typeNames.AgentCapabilities,
    // The client polls an agent that cannot stream.
    streaming: true,
    pushNotifications,
    extendedAgentCard,
    extensions: copy.capabilities?.extensions ?? [],
  };
  return copy;
}

/** The header that carries a secret of this scheme; `undefined` when it is sent elsewhere. */
function findHeader(scheme: SecurityScheme | undefined): string | undefined {
  switch (scheme?.scheme.case) {
    case "apiKeySecurityScheme": {
      const { location, name } = scheme.scheme.value;
      if (location === "cookie") return "cookie";
      return location === "header" ? name.toLowerCase() : undefined;
    }
    case "httpAuthSecurityScheme":
    case "oauth2SecurityScheme":
    case "openIdConnectSecurityScheme":
      return "authorization";
    default:
      return undefined;
  }
}
