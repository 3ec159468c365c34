import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import type { AuthOptions } from "trivium";
import { apiKey, bearerJwt } from "trivium/auth";

// What the guarded agent asks of the official clients, and what they have.

const issuer = "https://id.example";
const audience = "interop";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

const token = (expires: string): Promise<string> =>
  new SignJWT({ sub: "anna" })
    .setProtectedHeader({ alg: "ES256" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(privateKey);

const key = "the-interop-key";

/** Either of them will do. */
export const auth: AuthOptions = {
  schemes: {
    token: bearerJwt({ issuer, audience, key: publicKey }),
    key: apiKey({ in: "header", name: "X-Api-Key", verify: (secret) => (secret === key ? "anna" : undefined) }),
  },
  require: [["token"], ["key"]],
};

/** What the clients have: one that is right of each kind, and a token that has expired. */
export interface Secrets {
  readonly token: string;
  readonly expired: string;
  readonly key: string;
}

export async function secrets(): Promise<Secrets> {
  return { token: await token("1h"), expired: await token("-1h"), key };
}
