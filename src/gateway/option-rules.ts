import { clientMembers } from "../client/option-rules.js";
import { amount, entries, type MembersOf, object, oneOf, type Rule, text } from "../protocol/check/rules.js";
import { baseServerMembers, listenMembers } from "../server/option-rules.js";
import type { GatewayOptions } from "./options.js";

const { extendedCard: _card, clock: _clock, ...upstreamMembers } = clientMembers;
const reason = "the gateway sets it for its own calls";

/** The options of `gateway()`. */
export const gatewayRule: Rule = object({
  ...baseServerMembers,
  ...listenMembers,
  upstream: { rule: () => [], missing: "give the URL of the agent or of its card, or the card" },
  client: { rule: object(upstreamMembers, { extendedCard: reason, clock: reason }) },
  forward: { rule: entries(text) },
  audience: { rule: text },
  securityRequirements: { rule: oneOf("protojson", "go") },
  refreshMs: { rule: amount },
} satisfies MembersOf<GatewayOptions>);
