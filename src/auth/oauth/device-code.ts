import type { JsonObject } from "@bufbuild/protobuf";
import { pause } from "../../protocol/async/pause.js";
import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import { A2AError } from "../../protocol/errors.js";
import type { DeviceCodePrompt } from "../credential-options.js";
import { untilAborted } from "../credential-part.js";
import { type AuthEndpoint, describeEndpoint, readDuration, readText } from "./server-request.js";
import { findOAuthError, type OAuthClient, oauthError, requestToken, sendForm, type Token } from "./token-request.js";
import type { TokenServer } from "./token-use.js";

/** The device code flow (RFC 8628) of one client. */
export interface DeviceCodeFlow {
  /** Continues with a code that the user has already seen while it is valid. */
  obtain(server: TokenServer, scope: string, signal: AbortSignal): Promise<Token>;
}

/** A code that the user has not approved yet. */
interface PendingCode {
  readonly scope: string;
  readonly deviceCode: string;
  readonly expiresAt: number;
  intervalMs: number;
}

const mostExpiryMs = 60 * 60_000;
const mostIntervalMs = 5 * 60_000;
const leastIntervalMs = 1000;
const stepMs = 5000;

export function createDeviceCodeFlow(client: OAuthClient): DeviceCodeFlow {
  const { clock } = client.environment;
  let pendingCode: PendingCode | undefined;
  return {
    async obtain(server, scope, signal) {
      const shown = pendingCode;
      const isGood = shown?.scope === scope && clock.now() < shown.expiresAt;
      const { code, prompt } = isGood ? { code: shown } : await authorize(client, server, scope, signal);
      pendingCode = code;
      try {
        if (prompt !== undefined) await untilAborted(() => client.secret.deviceCode?.(prompt), signal);
        const token = await poll(client, server, code, signal);
        pendingCode = undefined;
        return token;
      } catch (error) {
        if (!signal.aborted) pendingCode = undefined;
        throw error;
      }
    },
  };
}

async function authorize(
  client: OAuthClient,
  server: TokenServer,
  scope: string,
  signal: AbortSignal,
): Promise<{ readonly code: PendingCode; readonly prompt: DeviceCodePrompt }> {
  const { clock, allowPlaintext } = client.environment;
  const call = { url: server.deviceAuthorizationUrl ?? "", what: "device authorization endpoint" };
  if (call.url === "")
    throw new A2AError("unauthenticated", "the authorization server has no device authorization endpoint");
  const fields = { client_id: client.secret.clientId, ...(scope === "" ? {} : { scope }) };
  const json = await sendForm(client, { ...call, fields }, signal);
  const expiresInMs = readDuration(json, "expires_in", call, mostExpiryMs);
  if (expiresInMs === undefined)
    throw new A2AError("unauthenticated", `the answer of ${describeEndpoint(call)} has no expires_in`);
  const intervalMs = readDuration(json, "interval", call, mostIntervalMs) ?? stepMs;
  return {
    code: {
      scope,
      deviceCode: readText(json, "device_code", call),
      expiresAt: clock.now() + expiresInMs,
      intervalMs: Math.max(intervalMs, leastIntervalMs),
    },
    prompt: { ...readPrompt(json, call, allowPlaintext), expiresInMs },
  };
}

// Shown in a terminal or a page, so other text is refused.
const userCodeForm = /^[\x20-\x7e]{1,64}$/;

function readPrompt(
  json: JsonObject,
  call: AuthEndpoint,
  allowPlaintext: boolean,
): Omit<DeviceCodePrompt, "expiresInMs"> {
  const userCode = readText(json, "user_code", call);
  if (!userCodeForm.test(userCode)) {
    throw new A2AError(
      "unauthenticated",
      `user_code of ${describeEndpoint(call)} must be at most 64 visible characters`,
    );
  }
  const link = (name: string): string => {
    const url = readText(json, name, call);
    if (maySendSecret(url, allowPlaintext)) return new URL(url).href;
    throw new A2AError("unauthenticated", `${name} of ${describeEndpoint(call)} must be an https URL`);
  };
  const verificationUri = link("verification_uri");
  if ((json["verification_uri_complete"] ?? undefined) === undefined) return { verificationUri, userCode };
  return { verificationUri, verificationUriComplete: link("verification_uri_complete"), userCode };
}

/** Requests the token until the user approves or refuses, or the code expires. */
async function poll(client: OAuthClient, server: TokenServer, code: PendingCode, signal: AbortSignal): Promise<Token> {
  const { clock } = client.environment;
  const { tokenUrl: url } = server;
  const fields = {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: code.deviceCode,
    client_id: client.secret.clientId,
  };
  for (;;) {
    await pause(clock, code.intervalMs, signal);
    if (clock.now() >= code.expiresAt) throw oauthError({ what: "token endpoint", url }, "expired_token");
    try {
      return await requestToken(client, { url, fields }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayContinue(error)) throw error;
      if (findOAuthError(error) !== "authorization_pending") {
        code.intervalMs = Math.min(code.intervalMs + stepMs, mostIntervalMs);
      }
    }
  }
}

function mayContinue(error: unknown): boolean {
  const code = findOAuthError(error);
  if (code === "authorization_pending" || code === "slow_down") return true;
  return error instanceof A2AError && error.code === "unavailable";
}
