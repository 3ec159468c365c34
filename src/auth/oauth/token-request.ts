import type { JsonObject } from "@bufbuild/protobuf";
import { base64FromBytes } from "../../protocol/base64.js";
import { A2AError } from "../../protocol/errors.js";
import type { OAuthSecret } from "../options.js";
import {
  type AuthServerCall,
  callServer,
  describeEndpoint,
  durationOf,
  type ServerAnswer,
  type ServerEnvironment,
  textOf,
} from "./server-call.js";

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
export interface FormRequest {
  readonly url: string;
  readonly what: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * Sends a form as the client. Throws `unauthenticated` for an OAuth error, whose code `oauthErrorOf` returns, and for
 * an answer that is not OAuth; `unavailable` when the server fails.
 */
export async function sendForm(client: OAuthClient, request: FormRequest, signal: AbortSignal): Promise<JsonObject> {
  const { url, what, fields } = request;
  const { secret, environment } = client;
  const form = new URLSearchParams({ ...secret.parameters, ...fields });
  const headers = authenticate(secret, form);
  const call: AuthServerCall = { url, what, headers, form };
  const answer = await callServer(environment, call, signal);
  // Some servers send errors with status 200.
  if (answer.status === 200 && answer.json !== undefined && answer.json["error"] === undefined) return answer.json;
  throw answerError(call, answer);
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
  const pair = new TextEncoder().encode(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);
  return { authorization: `Basic ${base64FromBytes(pair)}` };
}

// RFC 6749 2.3.1: each half is form-encoded before they are joined.
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

const longestMs = 24 * 60 * 60_000;
const marginMostMs = 30_000;
const accessTokenForm = /^[\x21-\x7e]{1,32768}$/;

function readToken(json: JsonObject, call: FormRequest, now: number): Token {
  const accessToken = textOf(json, "access_token", call);
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
  const lifetimeMs = durationOf(json, "expires_in", { call, mostMs: longestMs });
  const { refresh_token: refreshToken } = json;
  return {
    accessToken,
    staleAt: lifetimeMs === undefined ? undefined : now + lifetimeMs - Math.min(lifetimeMs / 10, marginMostMs),
    refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
  };
}

// Only known codes are shown: any other text from a server might echo a secret.
const knownErrors: ReadonlySet<unknown> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "invalid_scope",
  "invalid_target",
  "unauthorized_client",
  "unsupported_grant_type",
  "authorization_pending",
  "slow_down",
  "access_denied",
  "expired_token",
  "server_error",
  "temporarily_unavailable",
]);

function answerError(call: AuthServerCall, { status, json }: ServerAnswer): A2AError {
  const code = json?.["error"];
  if (typeof code === "string" && knownErrors.has(code)) return oauthError(call, code);
  if (status >= 500 || status === 429) {
    return new A2AError("unavailable", `${describeEndpoint(call)} answered with HTTP status ${status}`);
  }
  const content = typeof code === "string" ? "an error that OAuth does not know" : "no JSON that OAuth knows";
  return new A2AError(
    "unauthenticated",
    `${describeEndpoint(call)} answered with HTTP status ${status} and ${content}`,
  );
}

/** The error for an OAuth error code. */
export function oauthError(call: Pick<AuthServerCall, "what" | "url">, code: string): A2AError {
  return new A2AError("unauthenticated", `${describeEndpoint(call)} refused: ${code}`, {
    metadata: { oauthError: code },
  });
}

/** The OAuth code of an error; `undefined` if it has none. */
export function oauthErrorOf(error: unknown): string | undefined {
  return error instanceof A2AError ? error.metadata["oauthError"] : undefined;
}
