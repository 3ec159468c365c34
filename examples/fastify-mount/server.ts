// Mounts an agent in a Fastify app, as a plugin. Closing the app closes the agent.
import fastify from "fastify";
import { artifact, createAgent } from "trivium";
import { fastifyAgent } from "trivium/fastify";

const agent = createAgent({
  card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact(text.toUpperCase());
  },
});

const app = fastify();
app.register(fastifyAgent(agent), { prefix: "/agents/shouter" });
app.get("/menu", async () => "the shop's own page");
const url = await app.listen({ port: Number(process.env["PORT"] ?? 8080), host: "127.0.0.1" });
console.log(`The shop listens at ${url}`);
