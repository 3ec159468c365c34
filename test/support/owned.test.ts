import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { endLeft, execute, exitOf, owned } from "./owned.js";

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
function startsUnowned(source: string): boolean {
  const [, imported = ""] = /import \{([^}]*)\} from "node:child_process"/.exec(source) ?? [];
  if (/\bexec(?:File)?\b/.test(imported)) return true;
  const calls = (name: string): number => source.match(new RegExp(`(?<![.\\w])${name}\\(`, "g"))?.length ?? 0;
  return /\b(?:spawn|fork)\b/.test(imported) && calls("(?:spawn|fork)") > calls("owned");
}

describe("the processes of a test", () => {
  it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
    "end with their owner that gets %s, and so does their folder",
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

  it("end with their file of tests, unless several files share them", async () => {
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

  it("may end by themselves before", async () => {
    const child = owned(spawn(process.execPath, ["-e", "process.exitCode = 3"]));
    expect(await exitOf(child)).toBe(3);
    expect(await exitOf(child)).toBe(3);
    await endLeft();
    await expect(execute(process.execPath, ["-e", "process.exit(4)"])).rejects.toMatchObject({ code: 4 });
  });

  it("are all started through their owner", () => {
    const files = globSync("**/*.ts", { cwd: tests, exclude: (name) => name === "node_modules" });
    const free = files.filter(
      (file) => !file.startsWith("support/owned") && startsUnowned(readFileSync(join(tests, file), "utf8")),
    );
    expect(free).toEqual([]);
    expect(startsUnowned('import { spawn } from "node:child_process";\nowned(spawn("sh"));\nspawn("sh");')).toBe(true);
    expect(startsUnowned('import { execFile } from "node:child_process";')).toBe(true);
  });
});
