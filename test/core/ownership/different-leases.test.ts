import { describe, expect, it } from "vitest";
import { type CoreProcess, createCoreProcess } from "../../../src/core/process.js";
import { processSignals } from "../../../src/signals/in-process.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { type LogLine, recordingLogger } from "../../support/recording-logger.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const minute = 60_000;

interface Replica {
  readonly process: CoreProcess;
  warnings(): readonly LogLine["fields"][];
}

/** Processes on one store, each with a lease of its own length. */
function replicas() {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const start = async (instanceTtlMs: number): Promise<Replica> => {
    const { log, logger } = recordingLogger();
    const limits = { instanceTtlMs, heartbeatMs: 1000 };
    const process = createCoreProcess({ store, clock, signals: processSignals, logger, limits });
    await settle();
    const warnings = () => log.filter(({ level }) => level === "warn").map(({ fields }) => fields);
    return { process, warnings };
  };
  return { clock, start };
}

describe("processes whose leases last for different times", () => {
  it("processes whose leases last for different times log it once each, the first one within a minute", async () => {
    const { clock, start } = replicas();
    const first = await start(15_000);
    const second = await start(6000);
    expect(second.warnings()).toEqual([{ instanceTtlMs: 6000, otherTtls: [15_000] }]);
    await clock.advance(minute);
    expect(first.warnings()).toEqual([{ instanceTtlMs: 15_000, otherTtls: [6000] }]);
    await clock.advance(5 * minute);
    expect([first.warnings().length, second.warnings().length]).toEqual([1, 1]);
    await Promise.all([first.process.close(), second.process.close()]);
  });

  it("processes log different lease times again when such a process comes back", async () => {
    const { clock, start } = replicas();
    const first = await start(15_000);
    for (let count = 0; count < 2; count += 1) {
      const second = await start(6000);
      await clock.advance(minute);
      await second.process.close();
      await clock.advance(minute);
    }
    expect(first.warnings()).toHaveLength(2);
    await first.process.close();
  });
});

it("processes whose leases last for the same time log nothing about them", async () => {
  const { clock, start } = replicas();
  const [first, second] = [await start(15_000), await start(15_000)];
  await clock.advance(2 * minute);
  expect([...first.warnings(), ...second.warnings()]).toEqual([]);
  await Promise.all([first.process.close(), second.process.close()]);
});
