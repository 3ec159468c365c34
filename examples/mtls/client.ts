// Services in a mesh identify each other by certificates. The travel agent needs nothing but its own certificate.
// npm install trivium @peculiar/x509 reflect-metadata
import { A2AError, artifact, Client, serve } from "trivium";
import { mutualTls } from "trivium/auth";
import { createAuthority } from "./certificates.ts";

const mesh = await createAuthority("Example mesh");
const localhost = await mesh.issue("weather", { type: "ip", value: "127.0.0.1" });

await using weather = await serve({
  card: { name: "Weather", description: "Forecasts for ports", version: "1.0.0" },
  port: 0,
  logger: false,
  tls: localhost,
  auth: {
    schemes: { service: mutualTls({ ca: mesh.ca }) },
    principal: ({ subject }) => ({ owner: subject }),
  },
  async *agent({ principal }) {
    yield artifact(`Rain in Emden, ${principal.owner}.`);
  },
});

/** Calls the agent over one binding, with the certificate of a service or without one. */
async function call(prefer: string, certificate?: { readonly cert: string; readonly key: string }): Promise<void> {
  const tls = { ca: mesh.ca, ...certificate };
  // A refused certificate looks like a server that restarts, and the client would wait for it.
  await using client = await Client.connect(weather.url, { prefer: [prefer], tls, retry: false });
  try {
    console.log((await client.send("Do I need an umbrella?")).text);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    console.log(`${error.code}: ${error.message}`);
  }
}

const travel = await mesh.issue("travel", { type: "url", value: "spiffe://example/travel" });
await call("JSONRPC", travel);
await call("GRPC", travel);
await call("JSONRPC");

// A certificate of another authority ends the connection.
const others = await createAuthority("Another mesh");
const foreign = await others.issue("travel", { type: "url", value: "spiffe://example/travel" });
await call("JSONRPC", foreign).catch((error: Error) => console.log(`no connection: ${error.name}`));
