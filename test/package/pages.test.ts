import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { type Block, blocksOf, documents, read } from "../docs/pages.js";
import { fixedPort } from "../support/fixed-port.js";
import { hasPostgres, sharedPostgres } from "../support/postgres.js";
import { createProject } from "./project.js";
import { openTerminals, type Terminals } from "./terminals.js";

// Follows the tutorial and the guides: writes their files and runs their commands, in order. CONTRIBUTING.md says how a page
// is read.

const pages = documents.filter(
  (page) => /^docs\/(?:tutorial\.md|guides\/)/.test(page) && blocksOf(page).some(({ language }) => language === "sh"),
);

/** Commands that the tests cannot run, by a text in their block. What they are about is tried otherwise. */
const leftOut: Readonly<Record<string, string>> = {
  "docker run": "needs Docker",
  "docker build": "needs Docker and a cluster; image.test.ts executes the steps of the image",
  "trivium doctor": "needs agents and databases that are wrong; test/cli/doctor.test.ts has them",
  "weather.mesh.example": "needs an agent with a certificate; test/cli/send.test.ts has one",
  "--login": "needs a browser; test/cli/login/login.test.ts has one",
  "VACUUM INTO": "needs the tools of both databases",
};

const shellBlocks = documents
  .filter((page) => /^docs\/(?:tutorial\.md|guides\/)/.test(page))
  .flatMap((page) => blocksOf(page).filter(({ language }) => /^(?:sh|bash|shell|console)$/.test(language)));

it("the test runs all shell commands of the tutorial and the guides, except for those with a reason", () => {
  const others = shellBlocks.filter(({ language }) => language !== "sh");
  const isLeftOut = ({ code }: Block): boolean => Object.keys(leftOut).some((text) => code.includes(text));
  expect(others.filter((block) => !isLeftOut(block)).map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  expect(Object.keys(leftOut).filter((text) => !others.some(({ code }) => code.includes(text)))).toEqual([]);
});

/** The name that a block has as a file: "`server.ts`:". */
const fileName = /`([\w./[\]-]+\.\w+)`[^`]*:$/;
const printing = /\bprints:$/;

let terminals: Terminals | undefined;
let bin = "";

/** A project that has the package. */
let installed = "";

beforeAll(async () => {
  installed = (await createProject()).folder;
  // An `npm` that installs the packed package where the page says `npm install trivium`.
  bin = join(inject("workFolder"), "bin");
  mkdirSync(bin, { recursive: true });
  const npm = execFileSync("which", ["npm"], { encoding: "utf8" }).trim();
  const script = `#!/usr/bin/env bash
args=()
for arg in "$@"; do if [ "$arg" = trivium ] && [ "$1" = install ]; then args+=("${inject("tarball")}"); else args+=("$arg"); fi; done
exec "${npm}" "\${args[@]}"
`;
  writeFileSync(join(bin, "npm"), script);
  chmodSync(join(bin, "npm"), 0o755);
});

afterEach(async () => {
  await terminals?.close();
});

describe("the commands", () => {
  it.each(pages)("the commands of %s run", async (page) => {
    const folder = mkdtempSync(join(inject("workFolder"), "page-"));
    // A page that installs the package begins in an empty folder, the others in a project that has it.
    const isComplete = /\bnpm install trivium\b/.test(read(page));
    if (!isComplete) execFileSync("cp", ["-a", `${installed}/.`, folder]);
    const ports = await portsOf(page);
    const env = {
      ...process.env,
      PORT: ports.get(usualPort),
      PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}`,
      TRIVIUM_LOG: undefined,
      DATABASE_URL: hasPostgres ? await (await sharedPostgres()).createDatabase() : undefined,
    };
    terminals = openTerminals(folder, env);
    for (const block of runnable(page)) await follow({ ...block, code: withPorts(block.code, ports) }, terminals);
  });
});

const usualPort = "41241";
const literalPort = /\b(?:41241|80\d\d|9999)\b/g;

/** A free port for each that a page names, so that two runs on one machine do not meet. */
async function portsOf(page: string): Promise<ReadonlyMap<string, string>> {
  const ports = new Map<string, string>();
  for (const port of [usualPort, ...(read(page).match(literalPort) ?? [])])
    if (!ports.has(port)) ports.set(port, String(await fixedPort()));
  return ports;
}

function withPorts(code: string, ports: ReadonlyMap<string, string>): string {
  return code.replaceAll(literalPort, (port) => ports.get(port) ?? port);
}

/** The blocks of a page, without those that need a database, and their output, where there is no PostgreSQL. */
function runnable(page: string): readonly Block[] {
  let isSkipped = false;
  return blocksOf(page).filter(({ language, info }) => {
    if (language === "sh") isSkipped = info === "postgres" && !hasPostgres;
    return !isSkipped || !/^(?:sh|text)$/.test(language);
  });
}

async function follow(block: Block, { folder, run, runBeside, printed }: Terminals): Promise<void> {
  const { language, info, lead, code, page, line } = block;
  try {
    if (language === "sh") await (info === "background" ? runBeside(code) : run(code));
    else if (language === "text" && printing.test(lead)) await printed(code.trim().split("\n"));
    else {
      const [, name] = fileName.exec(lead) ?? [];
      if (name !== undefined) write(join(folder(), name), code);
    }
  } catch (error) {
    throw new Error(`${page}:${line}`, { cause: error });
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
