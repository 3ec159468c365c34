import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import { A2AError } from "../../protocol/errors.js";
import type { AuthorizationCodeFlow } from "../credential-options.js";
import { untilAborted } from "../credential-part.js";
import { type AuthEndpoint, assertServer, describeEndpoint } from "./server-request.js";
import { isErrorCode, type OAuthClient, oauthError, requestToken, type Token } from "./token-request.js";
import type { TokenServer } from "./token-use.js";

interface CodeUse {
  readonly server: TokenServer & { readonly authorizationUrl: string };
  readonly scope: string;
  readonly flow: AuthorizationCodeFlow;
}

/** Signs the user in with the authorization code flow and PKCE (RFC 7636, RFC 9700). */
export async function obtainByCode(client: OAuthClient, use: CodeUse, signal: AbortSignal): Promise<Token> {
  const { server, scope, flow } = use;
  const call = { what: "authorization endpoint", url: server.authorizationUrl };
  // The user signs in there, so it is trusted like the endpoints that see a secret.
  assertServer(client.environment, call);
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const challenge = await calculatePKCECodeChallenge(verifier);
  let redirectUri = "";
  const urlFor = (uri: string): string => {
    redirectUri = uri;
    const url = new URL(server.authorizationUrl);
    const fields = {
      ...client.secret.parameters,
      response_type: "code",
      client_id: client.secret.clientId,
      redirect_uri: uri,
      state,
      code_challenge: challenge,
      code_challenge_method: "S256",
      ...(scope === "" ? {} : { scope }),
    };
    for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
    return url.href;
  };
  const answer = await untilAborted(() => flow({ urlFor, signal }), signal);
  const code = readCode(client, call, server, state, answer);
  const fields = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  return requestToken(client, { url: server.tokenUrl, fields }, signal);
}

/** The code of the answer, after a check that it belongs to this request (`state`) and server (`iss`, RFC 9207). */
function readCode(
  client: OAuthClient,
  call: AuthEndpoint,
  server: CodeUse["server"],
  state: string,
  answer: string,
): string {
  const url = URL.parse(answer);
  if (url === null)
    throw new A2AError("unauthenticated", "authorizationCode must return the URL to which the browser was sent back");
  const issuer = server.issuer ?? issuerIn(url, server.authorizationUrl);
  const { clientId: client_id } = client.secret;
  const names = { issuer, authorization_response_iss_parameter_supported: server.answersWithIssuer === true };
  try {
    const code = validateAuthResponse(names, { client_id }, url, state).get("code");
    if (code !== null && code !== "") return code;
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      const code = isErrorCode(error.error) ? error.error : "an error that OAuth does not know";
      throw oauthError(call, code);
    }
    throw new A2AError(
      "unauthenticated",
      `the answer of ${describeEndpoint(call)} is for another request: its state or issuer differs`,
      {
        cause: error,
      },
    );
  }
  throw new A2AError("unauthenticated", `the answer of ${describeEndpoint(call)} has no code`);
}

/** The issuer that the answer names, if it may be that of a server whose issuer the card does not say. */
function issuerIn(answer: URL, authorizationUrl: string): string {
  const { origin } = new URL(authorizationUrl);
  const issuer = answer.searchParams.get("iss");
  return issuer !== null && URL.parse(issuer)?.origin === origin ? issuer : origin;
}
