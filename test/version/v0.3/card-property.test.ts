import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type AgentCard, AgentCardSchema, type SecurityScheme } from "../../../src/protocol/model.js";
import { readCard, writeCard } from "../../../src/version/v0.3/card.js";
import { arbitraryMessage } from "../../support/arbitrary-message.js";

const transports = fc.constantFrom("JSONRPC", "GRPC", "HTTP+JSON", "urn:example:own");

/** Distinct interfaces of 0.3, JSON-RPC first if present. */
const places = fc
  .uniqueArray(fc.record({ url: fc.webUrl(), protocolBinding: transports }), {
    minLength: 1,
    maxLength: 4,
    selector: ({ url, protocolBinding }) => `${url} ${protocolBinding}`,
  })
  .map((list) => {
    const main = list.find(({ protocolBinding }) => protocolBinding === "JSONRPC") ?? list[0];
    return [...list.filter((each) => each === main), ...list.filter((each) => each !== main)].map((each) => ({
      ...each,
      protocolVersion: "0.3",
    }));
  });

const cards = fc.record({ card: arbitraryMessage(AgentCardSchema), supportedInterfaces: places }).map(
  ({ card, supportedInterfaces }): AgentCard => ({
    ...card,
    supportedInterfaces: create(AgentCardSchema, { supportedInterfaces }).supportedInterfaces,
  }),
);

/** Reduces a card to what 0.3 can express. */
function sayable(card: AgentCard): AgentCard {
  const schemes = Object.entries(card.securitySchemes).filter(([, { scheme }]) => scheme.case !== undefined);
  const capabilities = card.capabilities ?? create(AgentCardSchema, { capabilities: {} }).capabilities;
  return {
    ...card,
    signatures: [],
    securitySchemes: Object.fromEntries(schemes.map(([name, scheme]) => [name, sayableScheme(scheme)])),
    ...(capabilities === undefined
      ? {}
      : { capabilities: { ...capabilities, extendedAgentCard: capabilities.extendedAgentCard ?? false } }),
  };
}

function sayableScheme(scheme: SecurityScheme): SecurityScheme {
  const copy = structuredClone(scheme);
  if (copy.scheme.case !== "oauth2SecurityScheme") return copy;
  // A scheme without flows reads with an empty flows object.
  copy.scheme.value.flows ??= { $typeName: "lf.a2a.v1.OAuthFlows", flow: { case: undefined } };
  const { flows } = copy.scheme.value;
  if (flows.flow.case === "authorizationCode") flows.flow.value.pkceRequired = false;
  if (flows.flow.case === "deviceCode") flows.flow = { case: undefined };
  return copy;
}

// Requirements: IOP-8
it("a card survives 0.3 and back, except for what 0.3 cannot express", () => {
  fc.assert(
    fc.property(cards, (card) => {
      const written = writeCard(card);
      expect(written).toBeDefined();
      expect(readCard(JSON.parse(JSON.stringify(written)))).toEqual(sayable(card));
    }),
    { numRuns: 300 },
  );
});
