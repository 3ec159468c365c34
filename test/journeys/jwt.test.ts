import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";
import { type RunningExample, startProgram } from "../support/example.js";

// The tokens of an identity provider: a real key pair, whose public half is served as the agent expects it.

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" };
const provider = createServer((request, response) => {
  const metadata = { issuer, jwks_uri: `${issuer}/keys` };
  const content = request.url === "/keys" ? { keys: [key] } : metadata;
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(content));
});
let issuer = "";
const audience = "https://agents.example/desk";

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function token(changes: object = {}, { alg = "RS256", signingKey = privateKey } = {}): string {
  const exp = Math.floor(Date.now() / 1000) + 300;
  const claims = { iss: issuer, aud: audience, sub: "ada", exp, ...changes };
  const signed = `${encoded({ alg, kid: "k1" })}.${encoded(claims)}`;
  return `${signed}.${alg === "none" ? "" : sign("sha256", Buffer.from(signed), signingKey).toString("base64url")}`;
}

let project: Project;
beforeAll(async () => {
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  project = await createExample("jwt");
  // Next adds its own options.
  const compilerOptions = { allowImportingTsExtensions: true, noEmit: true, strict: true };
  await project.write("tsconfig.json", JSON.stringify({ compilerOptions }));
  const route = 'export { GET, POST, DELETE, HEAD, OPTIONS } from "../../../../next.ts";';
  await project.write("app/agents/desk/[[...path]]/route.ts", route);
  const built = await project.run(process.execPath, "node_modules/next/dist/bin/next", "build");
  expect(built.code, built.output).toBe(0);
});
afterAll(() => provider.close());

let server: RunningExample | undefined;
afterEach(async () => {
  await server?.stop();
});

const starts: Readonly<Record<string, () => Promise<RunningExample>>> = {
  Express: () => project.start("express.ts", { ISSUER: issuer }),
  Fastify: () => project.start("fastify.ts", { ISSUER: issuer }),
  Hono: () => project.start("hono.ts", { ISSUER: issuer }),
  Next: () =>
    startProgram("node_modules/next/dist/bin/next", {
      args: ["start", "-p", "0", "-H", "127.0.0.1"],
      cwd: project.folder,
      env: { ISSUER: issuer, TRIVIUM_LOG: "error" },
    }),
};

describe.each(Object.keys(starts))("an agent mounted in %s", (name) => {
  it("an agent mounted with JWTs serves callers with a right token, and challenges all others", async () => {
    server = await starts[name]?.();
    const url = `${server?.url}/agents/desk`;
    const call = async (bearer?: string): Promise<string> => {
      const env = bearer === undefined ? [] : [`TOKEN=${bearer}`];
      const { output } = await project.run("env", ...env, process.execPath, "client.ts", url);
      return output;
    };
    expect(await call(token())).toBe("Good morning, ada.\n");
    expect(await call(token({ sub: "bob" }))).toBe("Good morning, bob.\n");
    expect(await call()).toBe("unauthenticated, WWW-Authenticate: Bearer\n");
    const response = await fetch(`${url}/http-json/tasks`, { headers: { "A2A-Version": "1.0" } });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });
});

it.each<[string, () => string]>([
  ["of another issuer", () => token({ iss: "https://id.example" })],
  ["for another agent", () => token({ aud: "https://agents.example/other" })],
  ["that has expired", () => token({ exp: Math.floor(Date.now() / 1000) - 300 })],
  ["that never expires", () => token({ exp: undefined })],
  ["without a subject", () => token({ sub: undefined })],
  ["that nothing signs", () => token({}, { alg: "none" })],
  [
    "that another key signs",
    () => token({}, { signingKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey }),
  ],
  ["that is none", () => "nonsense"],
])("a token %s is refused", async (_name, make) => {
  server = await starts["Express"]?.();
  const headers = { "A2A-Version": "1.0", Authorization: `Bearer ${make()}` };
  const response = await fetch(`${server?.url}/agents/desk/http-json/tasks`, { headers });
  const challenge = response.headers.get("www-authenticate");
  expect([response.status, challenge]).toEqual([401, expect.stringMatching(/^Bearer error="invalid_token"/)]);
});
