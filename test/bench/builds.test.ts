import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { besideBuild, buildAt, currentBuild } from "../../bench/builds.ts";
import { startServer } from "../../bench/child.ts";
import { runRow } from "../../bench/rounds.ts";
import type { Probe, Row } from "../../bench/row.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-builds-"));
  write("dist/src/index.js", "");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A server of another revision, with one port per question. */
const oldServer = `
  process.on("message", () => process.send(process.env.TRIVIUM_DIST.endsWith("/dist") ? 20 : 0));
  process.on("disconnect", () => process.exit());
  process.send({ http: 1, grpc: 2 });
`;

/** A row that asks a server for its CPU time. The current build always answers 10. */
function rowWith(program: string): Row {
  const ours = async (): Promise<Probe> => {
    const server = await startServer(program);
    return { measure: () => server.ask("cpu"), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  };
  return { name: "row", unit: "µs", what: "", budgets: [], start: { ours } };
}

const effort = { rounds: 1, quick: true };

describe("a build beside the current one", () => {
  it("a build beside the current one is measured by its own revision's programs, which load its own dist", async () => {
    write("bench/servers/old.js", oldServer);
    const build = buildAt(join(folder, "dist"));
    const { before, noBefore } = await runRow(besideBuild(rowWith("old.js"), build), ["before"], effort);
    expect({ before, noBefore }).toEqual({ before: 20, noBefore: undefined });
  });

  it("a build beside the current one is run by the programs of this tree when it has none", () => {
    expect(buildAt(join(folder, "dist"))).toEqual({ programs: currentBuild.programs, dist: join(folder, "dist") });
  });

  it("a build beside the current one is left out of a row whose program its revision lacks", async () => {
    write("bench/servers/old.js", oldServer);
    const row = besideBuild(rowWith("port.ts"), buildAt(join(folder, "dist")));
    const figures = await runRow(row, ["before"], effort);
    expect(figures).toMatchObject({ noBefore: "this build has no bench/servers/port.ts" });
  });

  it("a build is left out of a row that its program cannot run, with that program's message", async () => {
    write("bench/servers/old.js", 'throw new Error("no such option");');
    const row = besideBuild(rowWith("old.js"), buildAt(join(folder, "dist")));
    const { noBefore } = await runRow(row, ["before"], effort);
    expect(noBefore).toMatch(/^a server left with code 1: .*no such option/s);
  });

  it("a build beside the current one has to be a build", () => {
    expect(() => buildAt(folder)).toThrow(
      `no build in ${folder}: src/index.js is missing; npm run bench:baseline makes one`,
    );
  });
});
