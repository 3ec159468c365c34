import { clone } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, type SecurityRequirement, type SecurityScheme } from "../protocol/model.js";

/** Which abilities of the agent the gateway passes on. */
export interface PassedAbilities {
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
  { forward, pushNotifications, extendedAgentCard }: PassedAbilities,
): AgentCard {
  const shown = clone(AgentCardSchema, card);
  const reaches = (scheme: SecurityScheme | undefined): boolean => forward.has(headerOf(scheme) ?? "");
  const schemes = Object.entries(shown.securitySchemes).filter(([, scheme]) => reaches(scheme));
  const known = new Set(schemes.map(([name]) => name));
  const kept = (requirements: readonly SecurityRequirement[]): SecurityRequirement[] =>
    requirements.filter(({ schemes }) => Object.keys(schemes).every((name) => known.has(name)));
  shown.supportedInterfaces = [];
  shown.signatures = [];
  shown.securitySchemes = Object.fromEntries(schemes);
  shown.securityRequirements = kept(shown.securityRequirements);
  for (const skill of shown.skills) skill.securityRequirements = kept(skill.securityRequirements);
  shown.capabilities = {
    $typeName: "lf.a2a.v1.AgentCapabilities",
    // The client polls an agent that cannot stream.
    streaming: true,
    pushNotifications,
    extendedAgentCard,
    extensions: shown.capabilities?.extensions ?? [],
  };
  return shown;
}

/** The header that carries a secret of this scheme; `undefined` when it is sent elsewhere. */
function headerOf(scheme: SecurityScheme | undefined): string | undefined {
  switch (scheme?.scheme.case) {
    case "apiKeySecurityScheme":
      return headerOfKey(scheme.scheme.value);
    case "httpAuthSecurityScheme":
    case "oauth2SecurityScheme":
    case "openIdConnectSecurityScheme":
      return "authorization";
    default:
      return undefined;
  }
}

function headerOfKey({ location, name }: { readonly location: string; readonly name: string }): string | undefined {
  if (location === "cookie") return "cookie";
  return location === "header" ? name.toLowerCase() : undefined;
}
