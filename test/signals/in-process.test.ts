import { describe, expect, it } from "vitest";
import { type Logger, silentLogger } from "../../src/protocol/logger.js";
import { inProcessSignals, processSignals } from "../../src/signals/in-process.js";
import { signalsContract } from "../../src/testing/contract/signals.js";

describe("the signals of a process", () => {
  const make = async () => {
    const signals = inProcessSignals();
    return { here: signals, there: signals };
  };
  for (const { name, run } of signalsContract(make)) it(name, run);
});

describe("the signals that all handlers share", () => {
  const make = async () => ({ here: processSignals, there: processSignals });
  for (const { name, run } of signalsContract(make)) it(name, run);
});

describe("hints within a process", () => {
  it("hints within a process are delivered during the publish call", () => {
    const signals = inProcessSignals();
    const hints: string[] = [];
    signals.subscribe(({ taskId }) => hints.push(taskId));
    signals.publish({ kind: "moved", taskId: "t" });
    expect(hints).toEqual(["t"]);
  });

  it("hints within a process do not reach a listener that an earlier listener removed or has just added", () => {
    const signals = inProcessSignals();
    const hints: string[] = [];
    signals.subscribe(() => {
      end();
      signals.subscribe(() => hints.push("new"));
    });
    const end = signals.subscribe(() => hints.push("ended"));
    signals.publish({ kind: "moved", taskId: "t" });
    expect(hints).toEqual([]);
  });

  it("hints within a process log what a listener threw", () => {
    const records: object[] = [];
    const logger: Logger = { ...silentLogger, error: (fields) => records.push(fields) };
    const signals = inProcessSignals({ logger });
    const error = new Error("broken");
    signals.subscribe(() => {
      throw error;
    });
    const hint = { kind: "moved", taskId: "t" } as const;
    signals.publish(hint);
    expect(records).toEqual([{ err: error, hint }]);
  });
});
