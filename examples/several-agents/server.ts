// Two agents on one port and one store. The travel agent asks the other one without a network.
import { type Agent, artifact, serve } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const weather: Agent = async function* ({ text }) {
  yield artifact(`${text}: rain until four`);
};

const travel: Agent = async function* ({ client, text }) {
  const forecast = await client("/weather").send(text);
  yield artifact(`Take the train to ${text}. (${forecast.text})`);
};

const card = (name: string, description: string) => ({ name, description, version: "1.0.0" });

const server = await serve({
  port: Number(process.env["PORT"] ?? 8080),
  store: sqliteStore({ path: process.env["STORE"] ?? ":memory:" }),
  catalogue: true,
  agents: {
    "/weather": { card: card("Weather", "Says whether it rains"), agent: weather },
    "/travel": { card: card("Travel", "Plans trips"), agent: travel, restartable: true },
  },
});
console.log(`The agents listen at ${server.url}`);
