import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";
import { serveHttp } from "./http-agent.js";

// A real authorization server, with pages on which a user signs in and consents.

export const audience = "urn:weather";
export const robot = { clientId: "robot", clientSecret: "not-a-real-one-but-long-enough" };
/** A public client of people: the command line. */
export const person = { clientId: "trivium-cli" };

export interface IdentityProvider extends AsyncDisposable {
  readonly origin: string;
  /** Paths of all requests, in order. */
  readonly paths: readonly string[];
}

export async function identityProvider({ lifetimeSeconds = 600 } = {}): Promise<IdentityProvider> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const signing = { ...(await exportJWK(privateKey)), kid: "k-1", alg: "ES256", use: "sig" };
  const paths: string[] = [];
  let provider: Provider | undefined;
  const server = createServer((request, response) => {
    paths.push(request.url?.split("?", 1)[0] ?? "");
    void provider?.callback()(request, response);
  });
  const { url, ...served } = await serveHttp(server);
  const ttl = lifetimeSeconds;
  const configuration: Configuration = {
    jwks: { keys: [signing] },
    cookies: { keys: ["a key of this test"] },
    clients: [
      {
        client_id: robot.clientId,
        client_secret: robot.clientSecret,
        id_token_signed_response_alg: "ES256",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: person.clientId,
        application_type: "native",
        token_endpoint_auth_method: "none",
        id_token_signed_response_alg: "ES256",
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        redirect_uris: ["http://127.0.0.1/callback"],
        response_types: ["code"],
      },
    ],
    scopes: ["openid", "offline_access", "read", "write"],
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
          scope: "read write",
          audience,
          accessTokenTTL: ttl,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  };
  provider = new Provider(url, configuration);
  // Without an interval in the answer a device waits for five seconds between two questions.
  provider.use(async (context, next) => {
    await next();
    if (context.oidc?.route === "device_authorization") Object.assign(context.body, { interval: 1 });
  });
  return { origin: url, paths, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() };
}
