// An agent that knows its callers by JSON Web Tokens, the issuer of the tokens, and callers with right and wrong ones.
// npm install trivium jose
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { A2AError, artifact, Client, serve } from "trivium";
import { bearerJwt } from "trivium/auth";

// The issuer. Yours is a server of its own, which publishes its keys in the same way.
const { publicKey, privateKey } = await generateKeyPair("ES256");
const keys = [{ ...(await exportJWK(publicKey)), kid: "key-1", alg: "ES256", use: "sig" }];
const published = createServer((request, response) => {
  const metadata = { issuer, jwks_uri: `${issuer}/keys` };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(request.url === "/keys" ? { keys } : metadata));
});
await new Promise<void>((resolve) => published.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${(published.address() as AddressInfo).port}`;

const token = (claims: JWTPayload, lifetime = "5 minutes"): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: "key-1" })
    .setIssuer(issuer)
    .setAudience("weather")
    .setExpirationTime(lifetime)
    .sign(privateKey);

await using server = await serve({
  card: {
    name: "Weather",
    description: "Forecasts for ports",
    version: "1.0.0",
    skills: [{ id: "report", name: "Report", description: "Reports the weather", tags: ["weather"] }],
  },
  port: 0,
  logger: false,
  auth: {
    schemes: { user: bearerJwt({ issuer, audience: "weather" }) },
    skills: { report: [{ user: ["weather:write"] }] },
    principal: ({ subject, claims }) => ({ owner: subject, team: claims["team"] }),
  },
  async *agent({ principal }) {
    yield artifact(`Good morning, ${principal.owner} of ${String(principal["team"])}.`);
  },
});

/** Sends a message with a token, to a skill if one is named, and prints the answer. */
async function call(credential: string | undefined, skillId?: string): Promise<void> {
  const credentials = credential === undefined ? {} : { user: credential };
  await using client = await Client.connect(server.url, { credentials });
  try {
    const answer = await client.send("Hello.", skillId === undefined ? {} : { metadata: { skillId } });
    console.log(answer.text);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    console.log(`${error.code}: ${error.message}`);
  }
}

const ada = { sub: "ada", team: "north" };
await call(await token(ada));
await call(undefined);
await call(await token(ada, "-2 minutes"));
await call(await token(ada), "report");
await call(await token({ ...ada, scope: "weather:write" }), "report");
published.close();
