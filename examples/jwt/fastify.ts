import fastify from "fastify";
import { fastifyAgent } from "trivium/fastify";
import { createDesk } from "./agent.ts";

const app = fastify();
app.register(fastifyAgent(createDesk()), { prefix: "/agents/desk" });
console.log(`The app listens at ${await app.listen({ port: Number(process.env["PORT"] ?? 8080), host: "127.0.0.1" })}`);
