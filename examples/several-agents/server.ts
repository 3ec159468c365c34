// Several agents in one process, each below a path of its own, on one store: `agentId` keeps their tasks apart.
import express from "express";
import { type Agent, artifact, createAgent } from "trivium";
import { expressAgent } from "trivium/express";
import { sqliteStore } from "trivium/sqlite";

const agents: Readonly<Record<string, Agent>> = {
  async *shouter({ text }) {
    yield artifact(text.toUpperCase());
  },
  async *whisperer({ text }) {
    yield artifact(text.toLowerCase());
  },
};

const app = express();
const store = sqliteStore({ path: process.env["STORE"] ?? ":memory:" });
for (const [agentId, agent] of Object.entries(agents)) {
  const card = { name: agentId, description: `The ${agentId}`, version: "1.0.0" };
  app.use(`/agents/${agentId}`, expressAgent(createAgent({ card, agent, agentId, store })));
}
const server = app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(`The agents listen at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
