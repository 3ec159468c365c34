import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { logLevels } from "../../src/cli/logger.js";
import { root } from "../support/command.js";

/** Runs a program with the built `stderrLogger`. Closing its stdin ends it. */
function startProgram(program: string) {
  const source = `import { stderrLogger } from "./dist/src/cli/logger.js";\n${program}`;
  return spawn(process.execPath, ["--input-type=module", "--eval", source], { cwd: root });
}

async function recordsOf(program: string): Promise<Record<string, unknown>[]> {
  const child = startProgram(program);
  const [log] = await Promise.all([text(child.stderr), once(child, "close")]);
  return log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

describe("the log of the command line", () => {
  it("has one line of JSON for each record, in the order that pino uses", async () => {
    const before = Date.now();
    const [record] = await recordsOf('stderrLogger("info").info({ taskId: "t", hint: { seq: 1 } }, "a\\nb");');
    expect(Object.keys(record ?? {})).toEqual(["level", "time", "taskId", "hint", "msg"]);
    expect(record).toMatchObject({ level: 30, taskId: "t", hint: { seq: 1 }, msg: "a\nb" });
    expect(record?.["time"]).toBeGreaterThanOrEqual(before);
  });

  it.each([
    { least: "trace", written: [20, 30, 40, 50] },
    { least: "debug", written: [20, 30, 40, 50] },
    { least: "info", written: [30, 40, 50] },
    { least: "warn", written: [40, 50] },
    { least: "error", written: [50] },
    { least: "fatal", written: [] },
    { least: "silent", written: [] },
  ])("leaves out records below the level $least", async ({ least, written }) => {
    expect(logLevels).toContain(least);
    const records = await recordsOf(
      `const log = stderrLogger("${least}"); for (const each of ["debug", "info", "warn", "error"]) log[each]({}, each);`,
    );
    expect(records.map(({ level }) => level)).toEqual(written);
  });

  it("shows of an error its type, message, stack, fields and causes", async () => {
    const [record] = await recordsOf(`
      const cause = new AggregateError([new TypeError("one")], "both");
      const error = Object.assign(new RangeError("outer", { cause }), { code: "E_CODE", offset: 7n });
      stderrLogger("info").error({ error }, "failed");
    `);
    expect(record).toMatchObject({
      level: 50,
      error: {
        type: "RangeError",
        message: "outer",
        stack: expect.stringContaining("RangeError: outer\n    at "),
        code: "E_CODE",
        offset: "7",
        cause: { type: "AggregateError", message: "both", errors: [{ type: "TypeError", message: "one" }] },
      },
      msg: "failed",
    });
  });

  it("shows fields that contain themselves", async () => {
    const [record] = await recordsOf(`
      const error = Object.assign(new Error("round"), { socket: {} });
      error.socket.error = error;
      stderrLogger("info").warn({ error }, "circular");
    `);
    expect(record).toMatchObject({ level: 40, fields: expect.stringContaining("Error: round"), msg: "circular" });
  });

  it("does not end the process when its reader has gone", async () => {
    const child = startProgram(`
      const log = stderrLogger("info");
      log.info({}, "first");
      process.stdin.once("data", () => {
        for (let count = 0; count < 10; count++) log.info({}, "unread");
        setImmediate(() => process.stdout.write("alive", () => process.exit(0)));
      });
    `);
    await once(child.stderr, "data");
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.write("go");
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect({ said, code }).toEqual({ said: "alive", code: 0 });
  });
});
