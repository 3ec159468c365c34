import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

/** Counts the system calls of a process, all threads, while `work` runs. `undefined` without `strace`. */
export async function countSystemCalls(
  pid: number,
  work: () => Promise<void>,
): Promise<ReadonlyMap<string, number> | undefined> {
  if (spawnSync("strace", ["--version"]).error !== undefined) return undefined;
  const strace = spawn("strace", ["-f", "-c", "-p", String(pid)], { stdio: ["ignore", "ignore", "pipe"] });
  strace.stderr.setEncoding("utf8");
  let text = "";
  const attached = Promise.withResolvers<void>();
  strace.stderr.on("data", (piece: string) => {
    text += piece;
    if (text.includes("attached")) attached.resolve();
  });
  await attached.promise;
  await work();
  const end = once(strace, "close");
  strace.kill("SIGINT");
  await end;
  return parseTable(text);
}

/** The columns of strace: % time, seconds, microseconds a call, calls, errors (may be empty), name. */
function parseTable(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, calls, name] = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z]\w*)$/.exec(line) ?? [];
    if (calls !== undefined && name !== undefined && name !== "total") counts.set(name, Number(calls));
  }
  return counts;
}
