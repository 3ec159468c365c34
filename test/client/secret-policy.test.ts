import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createSecretPolicy } from "../../src/client/secret-policy.js";
import { AgentCardSchema } from "../../src/protocol/model.js";

// What a card writes so that another server looks like the host of the card, `agent.example`.

const card = fromJson(AgentCardSchema, {});
const facts = { card, firstCard: card, cardUrl: "https://agent.example/.well-known/agent-card.json", secure: true };
const mayGo = (binding: string, url: string): boolean =>
  createSecretPolicy({ ...facts, binding, url }).noCredentials === undefined;

describe("secrets for the host of the card", () => {
  it.each([
    ["JSONRPC", "https://AGENT.example:8443/json-rpc"],
    ["JSONRPC", "https://agent\u3002example/"],
    ["JSONRPC", "https://[::1]@agent.example/"],
    ["JSONRPC", "https://agent.example\\@evil.example/"],
    ["GRPC", "agent.example:443"],
    ["GRPC", "grpcs://agent.example"],
    ["GRPC", "https://agent.example/evil.example:443"],
  ])("secrets for the host of the card go to it over %s as %s", (binding, url) => {
    expect(mayGo(binding, url)).toBe(true);
  });

  it.each([
    ["JSONRPC", "https://agent.example@evil.example/"],
    ["JSONRPC", "https://agent.example:443@evil.example/"],
    ["JSONRPC", "https://agent.example%2f@evil.example/"],
    ["JSONRPC", "https://agent.example.evil.example/"],
    ["JSONRPC", "https://agent.example./"],
    ["JSONRPC", "https://evil.example\\.agent.example/"],
    ["JSONRPC", "https://agent.example\t.evil.example/"],
    ["JSONRPC", "https://evil.example?@agent.example"],
    ["JSONRPC", "http://agent.example/"],
    ["JSONRPC", "//agent.example/"],
    ["JSONRPC", "file://agent.example/x"],
    ["GRPC", "agent.example@evil.example:443"],
    ["GRPC", "evil.example:443#agent.example"],
    ["GRPC", "https://evil.example:443/@agent.example"],
    ["GRPC", "agent.example:443,evil.example:443"],
    ["GRPC", "dns://agent.example/evil.example:443"],
    ["GRPC", "dns:///evil.example:443"],
    ["GRPC", "unix://agent.example/evil"],
    ["GRPC", "ipv4:192.0.2.1:443"],
  ])("secrets for the host of the card do not go elsewhere over %s by %s", (binding, url) => {
    expect(mayGo(binding, url)).toBe(false);
  });
});

describe("a header or a parameter for another host is held back", () => {
  const { noHeaders } = createSecretPolicy({ ...facts, binding: "JSONRPC", url: "https://other.example/" });

  it.each([
    ...[
      "authorization",
      "Proxy-Authorization",
      "cookie",
      "x-api-key",
      "x-auth",
      "session",
      "x-session-id",
      "access_token",
    ],
    ...["jwt", "X-JWT-Assertion", "signature", "Signature-Input", "X-Hub-Signature-256", "x-goog-signature", "sig"],
    ...["X-Amz-Security-Token", "X-Amz-Signature", "X-Amz-Credential", "client_assertion", "SAMLResponse", "x-saml"],
    ...["otp", "X-OTP", "otpCode", "totp", "x-pin", "userPin", "pwd", "passphrase", "x-passcode", "x-password"],
    ...["DPoP", "sid", "x-csrf", "X-XSRF", "hmac", "x-client-secret", "my-credentials"],
  ])("a header or a parameter for another host is held back by the name %s", (name) => {
    expect(noHeaders([name])).toContain("secrets go to agent.example only");
  });

  it.each([
    ...["x-trace", "traceparent", "idempotency-key", "x-request-id", "a2a-version", "a2a-extensions", "accept"],
    ...["shipping", "x-design", "option", "mapping", "signal", "x-passenger", "residence", "content-type", "x-assign"],
  ])("a header or a parameter for another host is not held back by the name %s", (name) => {
    expect(noHeaders([name])).toBeUndefined();
  });
});
