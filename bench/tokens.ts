import { generateKeyPairSync, sign } from "node:crypto";

/** What the tokens of the benchmark say. */
export const issuer = "https://id.example";
export const audience = "bench";

/** A key pair, and tokens that are signed with it by ES256, all of one caller. */
export interface TokenSource {
  /** The public key as a JWK. */
  readonly key: string;
  token(n: number): string;
}

export function createTokens(): TokenSource {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const head = encode({ alg: "ES256", typ: "JWT" });
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return {
    key: JSON.stringify(publicKey.export({ format: "jwk" })),
    token(n) {
      const input = `${head}.${encode({ iss: issuer, aud: audience, sub: "bench", exp, jti: String(n) })}`;
      const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
      return `${input}.${signature.toString("base64url")}`;
    },
  };
}
