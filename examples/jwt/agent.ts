// An agent for callers with a JWT. It is mounted in express.ts, fastify.ts, hono.ts and next.ts.
import { createAgent, reply } from "trivium";
import { bearerJwt } from "trivium/auth";

const { ISSUER = "https://id.example", AUDIENCE = "https://agents.example/desk" } = process.env;

export const createDesk = () =>
  createAgent({
    card: { name: "Desk", description: "Knows who is calling", version: "1.0.0" },
    auth: {
      schemes: { user: bearerJwt({ issuer: ISSUER, audience: AUDIENCE, algorithms: ["RS256"] }) },
      principal: ({ subject }) => ({ owner: subject }),
    },
    async *agent({ principal }) {
      yield reply(`Good morning, ${principal.owner}.`);
    },
  });
