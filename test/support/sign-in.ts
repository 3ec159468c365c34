import { reply, type Server, serve } from "trivium";
import { oauth2, openIdConnect } from "trivium/auth";
import type { startTrivium } from "./command.js";
import { audience, type IdentityProvider, person } from "./identity-provider.js";

export const card = { name: "Weather", description: "Forecasts for ports", version: "1.0.0" };

/** Serves an agent whose callers sign in at the authorization server of an origin. */
export async function weather(
  origin: string,
  flow: "openid" | "code" | "device" | "credentials" = "openid",
): Promise<Server> {
  const jwt = { issuer: origin, audience };
  const endpoint = { tokenUrl: `${origin}/token`, scopes: { read: "Reads" } };
  const flows = {
    code: { authorizationCode: { ...endpoint, authorizationUrl: `${origin}/auth` } },
    device: { deviceCode: { ...endpoint, deviceAuthorizationUrl: `${origin}/device/auth` } },
    credentials: { clientCredentials: endpoint },
  };
  const discoveryUrl = `${origin}/.well-known/openid-configuration`;
  const user = flow === "openid" ? openIdConnect({ discoveryUrl, audience }) : oauth2({ flows: flows[flow], jwt });
  return serve({
    card,
    port: 0,
    logger: false,
    auth: {
      schemes: { user },
      require: [{ user: ["read"] }],
      skills: {},
      skillOf: () => undefined,
      operations: { cancelTask: [{ user: ["write"] }] },
    },
    agent: async ({ principal }) => reply(`Hello ${principal.owner} with ${String(principal["scopes"])}`),
  });
}

/** The arguments of a command that sends a message and signs in. */
export const sending = (url: string, { origin }: IdentityProvider): readonly string[] => [
  ...["send", url, "Hello.", "--login", person.clientId, "--trust", origin],
];

/** The page that a command prints on stderr. */
export async function pageOf(child: ReturnType<typeof startTrivium>): Promise<URL> {
  let text = "";
  return new Promise((resolve, reject) => {
    child.stderr.on("data", (piece) => {
      text += String(piece);
      const url = /Open in a browser: (\S+)\n/.exec(text)?.[1];
      if (url !== undefined) resolve(new URL(url));
    });
    child.once("exit", () => reject(new Error(`no page in ${text}`)));
  });
}
