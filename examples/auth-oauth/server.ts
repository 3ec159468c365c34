// An agent for callers with tokens of an OpenID Connect provider, which it starts as well.
// npm install trivium jose oidc-provider
import { artifact, serve } from "trivium";
import { openIdConnect } from "trivium/auth";
import { startProvider } from "./provider.ts";

const audience = "https://agents.example/weather";
const { issuer, close } = await startProvider(audience);

const server = await serve({
  card: {
    name: "Weather",
    description: "Forecasts for ports",
    version: "1.0.0",
    skills: [{ id: "report", name: "Report", description: "Reports the weather", tags: ["weather"] }],
  },
  port: Number(process.env["PORT"] ?? 8080),
  handleSignals: true,
  auth: {
    schemes: { user: openIdConnect({ discoveryUrl: `${issuer}/.well-known/openid-configuration`, audience }) },
    require: [{ user: ["weather:read"] }],
    skills: { report: [{ user: ["weather:write"] }] },
    keepClaims: true,
  },
  async *agent({ principal }) {
    const { owner, scopes } = principal;
    yield artifact(`Hello ${owner.slice(owner.indexOf("#") + 1)}, you may ${String(scopes)}.`);
  },
});

console.log(
  `The agent listens at ${server.url}\nIts provider listens at ${issuer}\nSign in as a person, with any name:`,
);
console.log(`npx trivium send ${server.url} "Hello." --login trivium-cli --trust ${issuer}`);
process.once("beforeExit", close);
