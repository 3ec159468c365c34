import { parseArgs } from "node:util";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

// The official JavaScript SDK reads the card of an agent that demands scopes: prints one line of JSON with the
// requirements of the card, of its first skill and of the extended card.

const names = ["url", "key", "binding"];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
const Factory = values.binding === "JSONRPC" ? JsonRpcTransportFactory : RestTransportFactory;
const fetchImpl = (url, init) =>
  fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), "x-key": values.key } });

const card = await new DefaultAgentCardResolver().resolve(values.url);
const client = await new ClientFactory({ transports: [new Factory({ fetchImpl })] }).createFromAgentCard(card);
const extended = await client.transport.getExtendedAgentCard({ tenant: "" });

const plain = (requirements) =>
  requirements.map(({ schemes }) =>
    Object.fromEntries(Object.entries(schemes).map(([name, { list }]) => [name, list])),
  );
const read = {
  card: card.securityRequirements,
  skill: card.skills[0].securityRequirements,
  extended: extended.securityRequirements,
};
process.stdout.write(
  `${JSON.stringify(Object.fromEntries(Object.entries(read).map(([name, all]) => [name, plain(all)])))}\n`,
);
process.exit(0);
