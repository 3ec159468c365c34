// Runs the built command many times in one process. Each run evaluates `main.js` again; its imports stay loaded. The parent
// requests one run at a time by a message.

/** A run that the parent requests. */
export interface HostedRun {
  readonly main: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

let runs = 0;
let output = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].setMaxListeners(0);
  process[name].write = (chunk: string | Uint8Array): boolean => {
    output[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    return true;
  };
}

process.on("message", async ({ main, args, env, cwd }: HostedRun) => {
  runs += 1;
  output = { stdout: "", stderr: "" };
  process.argv = [process.argv0, main, ...args];
  process.env = { ...env };
  process.chdir(cwd);
  process.exitCode = undefined;
  await import(`${main}?run=${runs}`);
  process.send?.({ code: process.exitCode ?? 0, ...output });
});
process.on("disconnect", () => process.exit());
