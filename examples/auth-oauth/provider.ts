// An authorization server on this machine, in place of your own: Keycloak, Auth0, Entra ID and others do the same.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

/** Starts it with a client for services and one for people. */
export async function startProvider(audience: string) {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const server = createServer((request, response) => provider.callback()(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ttl = 10 * 60;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "key-1", alg: "ES256", use: "sig" }] },
    cookies: { keys: [crypto.randomUUID()] },
    clients: [
      {
        client_id: "harbour-office",
        client_secret: "a secret of the harbour office",
        id_token_signed_response_alg: "ES256",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: "trivium-cli",
        application_type: "native",
        token_endpoint_auth_method: "none",
        id_token_signed_response_alg: "ES256",
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        redirect_uris: ["http://127.0.0.1/callback"],
        response_types: ["code"],
      },
    ],
    scopes: ["openid", "offline_access", "weather:read", "weather:write"],
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: { AccessToken: ttl, ClientCredentials: ttl, Grant: 3600, Session: 3600, RefreshToken: 3600 },
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "weather:read weather:write",
          audience,
          accessTokenTTL: ttl,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  });
  return { issuer, close: () => server.close() };
}
