/**
 * This framework with callers who bring tokens: `ours-jwt.ts auth|bare KEY`. `auth` holds them to `bearerJwt`; `bare` verifies
 * each token with the library alone. KEY is the public key as a JWK.
 */
import { jwtVerify } from "jose";
import { builtFile, loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText } from "../corpus.ts";
import { audience, issuer } from "../tokens.ts";

const { reply, serve } = await loadTrivium();
const [, , mode, key = ""] = process.argv;
const jwk = JSON.parse(key);

const server = await serve({
  card: { name: "Bench", description: "Answers callers with tokens", version: "1.0.0" },
  port: 0,
  ...(mode === "auth" ? await schemes() : { authenticate: principalOf }),
  agent: async () => reply(answerText),
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });

async function schemes() {
  const { bearerJwt }: typeof import("../../src/auth/schemes/index.js") = await import(
    builtFile("src/auth/schemes/index.js")
  );
  return { auth: { schemes: { user: bearerJwt({ issuer, audience, key: jwk }) } } };
}

async function principalOf({ bearer = "" }: { readonly bearer: string | undefined }) {
  const { payload } = await jwtVerify(bearer, jwk, { issuer, audience });
  return { owner: String(payload.sub) };
}
