import { cardServer } from "./card-server.js";
import { type BindingName, cardOf, interfaceAt } from "./cards.js";
import { securedAgent } from "./secured-agent.js";

/** Reaches this machine, and is no name of it. */
const elsewhere = "[::ffff:0:0]";
/** The header of the key. */
export const key = "x-port-key";

/** What a card says about the key. */
export const declared = {
  securitySchemes: { port: { apiKeySecurityScheme: { location: "header", name: key } } },
  securityRequirements: [{ schemes: { port: { list: [] } } }],
};

/** An agent that wants a key, and a card elsewhere that lists its interfaces. */
export async function agentElsewhere(binding: BindingName, { ownToo = false, declares = true } = {}) {
  const agent = await securedAgent(key, (value) => value === "k");
  const origin = `http://${elsewhere}:${agent.port}`;
  const listed =
    binding === "GRPC"
      ? { protocolBinding: "GRPC", url: `${elsewhere}:${agent.port}`, protocolVersion: "1.0" }
      : interfaceAt(binding, origin);
  const card = cardOf(ownToo ? [listed, interfaceAt("JSONRPC", agent.url)] : [listed], {
    ...(declares ? declared : {}),
  });
  const cards = await cardServer({ "/card.json": card });
  return {
    agent,
    card,
    origin,
    url: `${cards.url}/card.json`,
    async [Symbol.asyncDispose]() {
      await cards[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
    },
  };
}
