// Examples for the docstrings of `trivium/fastify`.
import fastify from "fastify";
import { type Agent, type CardOptions, createAgent } from "trivium";
import { fastifyAgent } from "trivium/fastify";

declare const card: CardOptions;
declare const agent: Agent;

{
  // #region fastifyAgent
  const app = fastify();
  await app.register(fastifyAgent(createAgent({ card, agent })), { prefix: "/agents/weather" });
  await app.listen({ port: 8080 });
  // #endregion
}
