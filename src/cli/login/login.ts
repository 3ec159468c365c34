import type { OAuthSecret } from "../../auth/credential-options.js";
import type { AuthorizationPrompt } from "../../client/options.js";
import { loginTokenStore } from "./logins.js";
import { signInByLoopback } from "./loopback.js";
import { showPage } from "./show-page.js";

/** Options of a command for signing in. */
export interface LoginFlags {
  /** `client-id`, or `scheme=client-id`. */
  readonly login?: string;
  readonly scope?: readonly string[];
  readonly trust?: readonly string[];
  readonly browser: boolean;
}

/** The secret for `--login`, with the name of its scheme. Throws a `TypeError` that names the wrong option. */
export function readLogin(agentUrl: string, flags: LoginFlags & { readonly login: string }): [string, OAuthSecret] {
  const { login, scope: scopes, trust, browser } = flags;
  const at = login.indexOf("=");
  const scheme = at < 0 ? "oauth" : login.slice(0, at);
  const clientId = login.slice(at + 1);
  if (scheme === "" || clientId === "") throw new TypeError("--login takes client-id, or scheme=client-id");
  const { TRIVIUM_CLIENT_SECRET: clientSecret } = process.env;
  const agent = new URL(agentUrl).origin;
  const oauthOptions = { clientId, clientSecret, scopes, trustedOrigins: trust && [agent, ...trust] };
  // A client with a secret signs in as itself, and needs no user.
  if (clientSecret !== undefined) return [scheme, oauthOptions];
  const secret: OAuthSecret = {
    ...oauthOptions,
    tokenStore: loginTokenStore({ agent, scheme, clientId }),
    authorizationCode: (request) =>
      signInByLoopback(request, (url) => showPage({ text: `Sign in to use ${agent}.`, url }, { browser, trust })),
    deviceCode: ({ verificationUri: url, verificationUriComplete: urlToOpen, userCode }) =>
      showPage({ text: `Sign in to use ${agent}, with the code ${userCode}.`, url, urlToOpen }, { browser, trust }),
  };
  return [scheme, secret];
}

/** Shows why a task needs an authorization, and opens the page. */
export function showAuthorization({ browser, trust }: LoginFlags): (prompt: AuthorizationPrompt) => Promise<void> {
  return async ({ text, url, userCode }) => {
    const code = userCode === undefined || text.includes(userCode) ? "" : ` The code is ${userCode}.`;
    if (url !== undefined)
      await showPage({ text: `The agent asks for an authorization: ${text}${code}`, url }, { browser, trust });
  };
}
