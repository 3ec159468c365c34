import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { endLeft, execute, exitOf, owned } from "./owned.js";
import { callsOf, importsFrom } from "./source-texts.js";

const owner = fileURLToPath(new URL("owner.ts", import.meta.url));
const tests = fileURLToPath(new URL("..", import.meta.url));

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether a file starts a process that is not owned, or runs one by a function that does not own it. */
function startsUnowned(path: string, source: string): boolean {
  const imports = importsFrom(path, source, "node:child_process");
  if (imports.some((name) => ["exec", "execFile"].includes(name))) return true;
  const starters = imports.filter((name) => ["spawn", "fork"].includes(name));
  return callsOf(path, source, starters) > callsOf(path, source, ["owned"]);
}

describe("the processes of a test", () => {
  it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
    "the processes of a test end with their owner that gets %s, and so does their folder",
    async (signal) => {
      const folder = mkdtempSync(join(tmpdir(), "trivium-owned-"));
      const owning = owned(spawn(process.execPath, [owner, folder], { stdio: ["ignore", "pipe", "inherit"] }));
      const [printed] = await once(owning.stdout, "data");
      const pids = String(printed).trim().split(" ").map(Number);
      expect(pids.map(isRunning)).toEqual([true, true]);
      owning.kill(signal);
      await exitOf(owning);
      await expect.poll(() => pids.some(isRunning) || existsSync(folder)).toBe(false);
    },
  );

  it("the processes of a test end with their file of tests, unless several files share them", async () => {
    const wait = ["-e", "setInterval(() => {}, 1000)"];
    const [one, shared] = [
      owned(spawn(process.execPath, wait)),
      owned(spawn(process.execPath, wait), { until: "process" }),
    ];
    await endLeft();
    expect([one.signalCode, shared.signalCode]).toEqual(["SIGKILL", null]);
    shared.kill("SIGKILL");
    expect(await exitOf(shared)).toBe("SIGKILL");
  });

  it("the processes of a test may end by themselves before", async () => {
    const child = owned(spawn(process.execPath, ["-e", "process.exitCode = 3"]));
    expect(await exitOf(child)).toBe(3);
    expect(await exitOf(child)).toBe(3);
    await endLeft();
    await expect(execute(process.execPath, ["-e", "process.exit(4)"])).rejects.toMatchObject({ code: 4 });
  });

  it("the processes of a test are all started through their owner", () => {
    const files = globSync("**/*.ts", { cwd: tests, exclude: (name) => name === "node_modules" });
    const free = files.filter(
      (file) => !file.startsWith("support/owned") && startsUnowned(file, readFileSync(join(tests, file), "utf8")),
    );
    expect(free).toEqual([]);
    expect(
      startsUnowned("a.ts", 'import { spawn } from "node:child_process";\nowned(spawn("sh"));\nspawn("sh");'),
    ).toBe(true);
    expect(startsUnowned("a.ts", 'import { execFile } from "node:child_process";')).toBe(true);
  });
});
