import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError } from "../../protocol/errors.js";
import type { OAuthSecret } from "../credential-options.js";
import {
  type AuthEndpoint,
  answerError,
  describeEndpoint,
  readDuration,
  readText,
  requestServer,
  type ServerEnvironment,
} from "./server-request.js";

// Writes the requests of all grants and reads their answers. The grants of oauth4webapi (3.8.8) are not used: each of
// them refuses answers that work today:
// - a token without `token_type` (LinkedIn, Slack), with a list of scopes, or with members that are null
// - a token beside an ID token of another issuer or algorithm; the OAuth2 scheme of a card names neither of the two
// - an error with status 200 (GitHub, while it waits for the user) or 500
// - a device code whose interval is text, or metadata of an issuer whose path ends in a slash (authentik)
// Its Basic authentication escapes `-` and `_`, and servers that do not decode the secret refuse it.

/** The answer of a token endpoint. */
export interface Token {
  readonly accessToken: string;
  /** When to request a new one, in milliseconds since the epoch; `undefined`: only after a refusal. */
  readonly staleAt: number | undefined;
  readonly refreshToken: string | undefined;
}

/** The client of an authorization server and how it authenticates. */
export interface OAuthClient {
  readonly secret: OAuthSecret;
  readonly environment: ServerEnvironment;
}

/** A form request on behalf of a client. */
export interface FormRequest extends AuthEndpoint {
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * Sends a form as the client. Throws `unauthenticated` for an OAuth error, whose code `findOAuthError` returns, and for
 * an answer that is not OAuth; `unavailable` when the server fails.
 */
export async function sendForm(client: OAuthClient, request: FormRequest, signal: AbortSignal): Promise<JsonObject> {
  const { url, what, fields } = request;
  const { secret, environment } = client;
  const form = new URLSearchParams({ ...secret.parameters, ...fields });
  const headers = authenticate(secret, form);
  const { status, json } = await requestServer(environment, { url, what, headers, form }, signal);
  const error = json?.["error"] ?? undefined;
  // Some servers send errors with status 200.
  if (status === 200 && json !== undefined && error === undefined) return json;
  if (isErrorCode(error)) throw oauthError(request, error);
  const isError = typeof error === "string";
  throw answerError(request, status, isError ? "an error that OAuth does not know" : "no JSON that OAuth knows");
}

/** Requests a token. */
export async function requestToken(
  client: OAuthClient,
  request: Omit<FormRequest, "what">,
  signal: AbortSignal,
): Promise<Token> {
  const call = { ...request, what: "token endpoint" };
  return readToken(await sendForm(client, call, signal), call, client.environment.clock.now());
}

/** Adds the client's id to the form, and its secret either there or in the returned header. */
function authenticate(secret: OAuthSecret, form: URLSearchParams): Readonly<Record<string, string>> {
  const { clientId, clientSecret, authentication = "client_secret_basic" } = secret;
  if (clientSecret === undefined || authentication === "client_secret_post") {
    form.set("client_id", clientId);
    if (clientSecret !== undefined) form.set("client_secret", clientSecret);
    return {};
  }
  return { authorization: `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}` };
}

// RFC 6749 2.3.1: each half is form-encoded before they are joined.
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

const longestMs = 24 * 60 * 60_000;
const marginMostMs = 30_000;
const accessTokenForm = /^[\x21-\x7e]{1,32768}$/;

function readToken(json: JsonObject, call: FormRequest, now: number): Token {
  const accessToken = readText(json, "access_token", call);
  if (!accessTokenForm.test(accessToken)) {
    throw new A2AError(
      "unauthenticated",
      `access_token of ${describeEndpoint(call)} holds characters that a token cannot have`,
    );
  }
  const type = json["token_type"] ?? "bearer";
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") {
    throw new A2AError("unauthenticated", `token_type of ${describeEndpoint(call)} must be Bearer`);
  }
  const lifetimeMs = readDuration(json, "expires_in", call, longestMs);
  const { refresh_token: refreshToken } = json;
  return {
    accessToken,
    staleAt: lifetimeMs === undefined ? undefined : now + lifetimeMs - Math.min(lifetimeMs / 10, marginMostMs),
    refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
  };
}

// Only known codes are shown: any other text from a server or a browser's page might echo a secret.
const errorCodes: ReadonlySet<unknown> = new Set([
  ...["invalid_request", "invalid_client", "invalid_grant", "invalid_scope", "invalid_target", "unauthorized_client"],
  ...["unsupported_grant_type", "unsupported_response_type", "server_error", "temporarily_unavailable"],
  ...["authorization_pending", "slow_down", "access_denied", "expired_token"],
  ...["login_required", "consent_required", "interaction_required"],
]);

/** Whether a value is an error code of OAuth or of OpenID Connect. */
export const isErrorCode = (value: unknown): value is string => errorCodes.has(value);

/** The error for an OAuth error code. */
export function oauthError(call: AuthEndpoint, code: string): A2AError {
  return new A2AError("unauthenticated", `${describeEndpoint(call)} refused: ${code}`, {
    metadata: { oauthError: code },
  });
}

/** The OAuth code of an error; `undefined` if it has none. */
export function findOAuthError(error: unknown): string | undefined {
  return error instanceof A2AError ? error.metadata["oauthError"] : undefined;
}
