// An agent for callers with a JWT. It is mounted in express.ts, fastify.ts, hono.ts and in a Next app below app/.
import { createRemoteJWKSet, jwtVerify } from "jose";
import { type Authenticate, createAgent, reply } from "trivium";

const { ISSUER = "https://id.example", AUDIENCE = "https://agents.example/desk" } = process.env;
const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", ISSUER));

/** Refuses a caller by throwing: 401 with `WWW-Authenticate: Bearer`. */
const authenticate: Authenticate = async ({ bearer = "" }) => {
  const { payload } = await jwtVerify(bearer, keys, {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ["RS256"],
    requiredClaims: ["sub", "exp"],
  });
  return { owner: payload.sub ?? "", scope: payload["scope"] };
};

export const createDesk = () =>
  createAgent({
    card: { name: "Desk", description: "Knows who is calling", version: "1.0.0" },
    authenticate,
    async *agent({ principal }) {
      yield reply(`Good morning, ${principal.owner}. You may ${principal["scope"] ?? "look"}.`);
    },
  });
