import { A2AError } from "../../protocol/errors.js";
import { answerError, callServer, describeEndpoint, type ServerEnvironment, textOf } from "./server-call.js";
import type { TokenServer } from "./token-use.js";

const wellKnownPath = "/.well-known/openid-configuration";

/** Reads the endpoints of an OpenID Connect provider. Its issuer must match the URL. */
export async function discover(environment: ServerEnvironment, url: string, signal: AbortSignal): Promise<TokenServer> {
  const call = { url, what: "OpenID Connect document" };
  const { status, json } = await callServer(environment, call, signal);
  if (status !== 200 || json === undefined) throw answerError(call, status, "no JSON object");
  if (textOf(json, "issuer", call).replace(/\/$/, "") + wellKnownPath !== url) {
    throw new A2AError(
      "unauthenticated",
      `the issuer of ${describeEndpoint(call)} is not the one that the URL belongs to`,
    );
  }
  const optional = (name: string): string | undefined => {
    const value = json[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return {
    tokenUrl: textOf(json, "token_endpoint", call),
    deviceAuthorizationUrl: optional("device_authorization_endpoint"),
    authorizationUrl: optional("authorization_endpoint"),
    issuer: optional("issuer"),
    answersWithIssuer: json["authorization_response_iss_parameter_supported"] === true,
  };
}
