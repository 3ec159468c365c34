import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf, documents, quotedFile } from "../docs/pages.js";
import { ambient, type Program, programsOf } from "../docs/programs.js";
import { createAuthority } from "../support/certificates.js";
import type { RunningExample } from "../support/example.js";
import { fixedPort } from "../support/fixed-port.js";
import { owned } from "../support/owned.js";
import { hasPostgres, sharedPostgres } from "../support/postgres.js";
import { createProject, type Project } from "./project.js";

// Runs the programs of all pages in a project that has the package, until their last statement is done. What
// a reader has (`card`, `agent`, …) comes from given.mjs; agents that they call are one peer.

/** Programs that do not run by themselves, by a text in them. */
const leftOut: Readonly<Record<string, string>> = {
  'from "vitest"': "a file of tests; test/journeys runs examples/testing",
  BERTH_TAKEN: "throws an error, as an agent does",
};

const programs = documents
  .flatMap((page) =>
    programsOf(blocksOf(page).filter((block) => block.language === "ts" && quotedFile(block) === undefined)),
  )
  .filter(({ source }) => !Object.keys(leftOut).some((text) => source.includes(text)));

/** What the programs import beside the package, and what they have the package import. */
const telemetry = ["api", "exporter-prometheus", "sdk-metrics"].map((name) => `@opentelemetry/${name}`);
const packages = ["zod", "pino", "winston", "pg", "express", ...telemetry];

let project: Project;
let peer: RunningExample;

beforeAll(async () => {
  project = await createProject(...packages);
  for (const file of ["given.mjs", "peer.mjs"]) await copyFile(`test/package/${file}`, join(project.folder, file));
  peer = await project.start("peer.mjs");
});

afterAll(() => peer?.stop());

const ended = "the last statement is done";

/**
 * A program for this machine: its first server listens at a port of its own, and others at any. Agents and databases at made-up
 * addresses are those that there are.
 */
function placed(
  { source, begins }: Program,
  { port, database }: { readonly port: number; readonly database: string },
): string {
  const lines = source
    .replaceAll(/\bport: \d{4,5}\b/g, "port: 0")
    .replaceAll(/https:\/\/(?:agent|old|weather\.mesh)\.example/g, peer.url)
    .replaceAll("/run/certificates/", "./")
    .replaceAll(/postgres:\/\/agent@(?:db\.internal|pooler\.internal:6432)\/agent/g, database)
    .replaceAll("41241", String(port))
    .split("\n");
  // The line before a block is that of its fence.
  for (const line of begins)
    if (/\bserve\(/.test(lines.slice(0, line - 2).join())) lines[line - 2] = 'process.env.PORT = "0";';
  return `${lines.join("\n")}\nconsole.log(${JSON.stringify(ended)});\n`;
}

/** Files that programs read. */
async function filesFor(folder: string): Promise<void> {
  const { ca, issue } = await createAuthority("Mesh");
  const { key, cert } = await issue("agent");
  const files = { "key.pem": key, "cert.pem": cert, "mesh-ca.pem": ca, "plan.pdf": "%PDF" };
  const mounted = { "ca.pem": ca, "tls.crt": cert, "tls.key": key };
  for (const [name, text] of Object.entries({ ...files, ...mounted })) writeFileSync(join(folder, name), text);
}

/** Runs a program until its last statement is done, and returns what it printed. Rejects when it ends before. */
async function run(file: string, folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  const preload = pathToFileURL(join(project.folder, "given.mjs")).href;
  const child = owned(
    spawn(process.execPath, ["--import", preload, file], {
      cwd: folder,
      env: { ...process.env, TRIVIUM_LOG: "error", UPSTREAM: peer.url, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  let printed = "";
  const done = new Promise<void>((resolve) => {
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (piece: string) => {
        printed += piece;
        if (printed.includes(ended)) resolve();
      });
    }
  });
  const gone = once(child, "close").then(([code]) => {
    if (!printed.includes(ended)) throw new Error(`it ended with ${code}:\n${printed}`);
  });
  await Promise.race([done, gone]);
  child.kill();
  await gone;
  return printed;
}

describe("the programs", () => {
  for (const [index, program] of programs.entries()) {
    const usesDatabase = program.source.includes("postgresStore(");
    const title = `of ${program.page}, line ${program.begins.join(", ")}, run${usesDatabase ? ", with PostgreSQL" : ""}`;
    it.skipIf(usesDatabase && !hasPostgres)(title, async () => {
      const folder = join(project.folder, `program-${index}`);
      mkdirSync(folder);
      await filesFor(folder);
      const database = usesDatabase ? await (await sharedPostgres()).createDatabase() : "";
      const port = await fixedPort();
      writeFileSync(join(folder, "program.ts"), placed(program, { port, database }));
      const named = [...ambient].filter((name) => new RegExp(`\\b${name}\\b`).test(program.source)).join(" ");
      const env = { NAMED: named, PORT: String(port), DATABASE_URL: database, INTROSPECTION_SECRET: "secret" };
      expect(await run("program.ts", folder, env)).not.toContain("Error");
    });
  }
});
