import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AgentServer, completed, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { execute } from "../support/owned.js";

// What the official SDKs read of a card that demands scopes, in the form of the specification and in that of the Go SDK.

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const python = path(".venv/bin/python");
const readers = [
  {
    name: "JavaScript",
    command: process.execPath,
    program: [path("js/card-requirements.mjs")],
    form: "protojson",
    needs: path("js/node_modules/@a2a-js/sdk"),
  },
  {
    name: "JavaScript 1.0.1",
    command: process.execPath,
    program: ["--import", path("js/older.mjs"), path("js/card-requirements.mjs")],
    form: "protojson",
    needs: path("js/node_modules/sdk-1.0"),
  },
  { name: "Python", command: python, program: [path("python/card_requirements.py")], form: "protojson", needs: python },
  { name: "Go", command: path("go/bin/card"), program: [], form: "go", needs: path("go/bin/card") },
  { name: "Go 2.3.1", command: path("go/bin/v2.3.1/card"), program: [], form: "go", needs: path("go/bin/v2.3.1/card") },
] as const;

const skill = { id: "tow", name: "Tow", description: "Tows", tags: ["tow"] };
const servers = new Map<string, AgentServer>();

beforeAll(async () => {
  for (const form of ["protojson", "go"] as const) {
    const server = await serve({
      port: 0,
      logger: false,
      card: {
        name: "Guarded",
        description: "d",
        version: "1",
        skills: [skill],
        extended: { description: "more" },
        securityRequirements: form,
      },
      agent: async () => completed(),
      auth: {
        schemes: {
          key: apiKey({ in: "header", name: "x-key", verify: () => ({ subject: "ada", scopes: ["read", "tow"] }) }),
        },
        require: [{ key: ["read"] }],
        skills: { tow: [{ key: ["tow"] }] },
      },
    });
    servers.set(form, server);
  }
});

afterAll(() => Promise.all([...servers.values()].map((server) => server.close())));

async function requirementsRead(reader: (typeof readers)[number], form: string, binding: string): Promise<unknown> {
  const options = ["--url", servers.get(form)?.url ?? "", "--key", "right", "--binding", binding];
  const { stdout } = await execute(reader.command, [...reader.program, ...options]);
  return JSON.parse(stdout);
}

const all = { card: [{ key: ["read"] }], skill: [{ key: ["tow"] }], extended: [{ key: ["read"] }] };

describe.each(readers)("the $name SDK", (reader) => {
  if (!existsSync(reader.needs) && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  it.each(["JSONRPC", "HTTP+JSON"])(
    `an official SDK reads every scope of the form ${reader.form}, over %s`,
    async (binding) => {
      expect(await requirementsRead(reader, reader.form, binding)).toEqual(all);
    },
  );

  it("an official SDK does not read scopes in the other form", async () => {
    const read = await requirementsRead(reader, reader.form === "go" ? "protojson" : "go", "JSONRPC").catch(
      (error: unknown) => error,
    );
    expect(read).not.toEqual(all);
  });
});
