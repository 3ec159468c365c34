import { Client, reply, serve } from "trivium";
import { mutualTls } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { createAuthority } from "../support/certificates.js";
import { fixedPort } from "../support/fixed-port.js";
import { hasProxy, shippedConfig, startProxy } from "./proxy.js";

// Envoy ends mutual TLS, as a sidecar does, and reports the caller's certificate; the agent trusts it alone.

const spiffe = "spiffe://example/travel";

/** The configuration of deploy/ with what docs/guides/mesh.md adds for client certificates. */
function configuration(port: number, agent: number): string {
  return shippedConfig("envoy", port, [agent])
    .replace(
      "              common_tls_context:\n",
      "              require_client_certificate: true\n              common_tls_context:\n                validation_context: { trusted_ca: { filename: ca.pem } }\n",
    )
    .replace(
      "forward_client_cert_details: SANITIZE",
      "forward_client_cert_details: SANITIZE_SET\n                set_current_client_cert_details: { subject: true, uri: true }",
    );
}

describe.skipIf(!hasProxy("envoy"))("behind Envoy with client certificates", () => {
  it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
    "the agent behind Envoy knows its caller by the certificate, over %s",
    async (binding) => {
      const authority = await createAuthority("mesh");
      const own = await authority.issue("localhost", { type: "dns", value: "localhost" });
      const caller = await authority.issue("travel", { type: "url", value: spiffe });
      const port = await fixedPort();
      await using server = await serve({
        card: { name: "Harbour", description: "Names its caller", version: "1.0.0" },
        port: 0,
        publicUrl: `https://localhost:${port}`,
        trustProxy: ["127.0.0.1/32"],
        auth: { schemes: { service: mutualTls() } },
        agent: async ({ principal }) => reply(principal.owner),
      });
      const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": authority.ca };
      await using _ = await startProxy("envoy", { config: configuration(port, server.port), files, port });
      const address = `https://localhost:${port}`;
      const client = await Client.connect(address, { prefer: [binding], tls: { ca: authority.ca, ...caller } });
      // What a caller claims itself is replaced by what the proxy has verified.
      const headers = { "x-forwarded-client-cert": 'Subject="CN=root";URI=spiffe://example/root' };
      expect((await client.send("who?", { headers })).text).toBe(`service#${spiffe}`);
      expect(client.connection?.binding).toBe(binding);
      await client.close();
      await expect(
        Client.connect(address, { tls: { ca: authority.ca }, retry: false }).then((bare) => bare.send("who?")),
      ).rejects.toThrow();
    },
  );
});
