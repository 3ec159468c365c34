import type { Clock } from "../../../src/core/ports.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { FaultPlan, type FaultWay, type StoreCall } from "../../support/fault-store.js";
import type { Immediates } from "../../support/immediates.js";
import { Caller } from "./caller.js";
import { checkHolders, checkLeft, checkResume, checkService, checkStored } from "./checks.js";
import type { Scenario } from "./scenarios.js";
import { Stage } from "./stage.js";

/** Longer than a turn waits for a failing store, and than an instance lives without a heartbeat. */
const hangMs = 40_000;
/** Past the expiry of an instance, the next heartbeat, and the checks of abandoned tasks. */
const recoverMs = 30_000;
const playMs = 400_000;

/** Which calls fail, and how. `calm` says whether the run is over. */
export interface Fault {
  readonly way: FaultWay;
  readonly hits: (call: StoreCall, now: { readonly ms: number; readonly calm: boolean }) => boolean;
  /** At most one call fails. */
  readonly single: boolean;
}

/** The result of a run. */
export interface Played {
  readonly violations: readonly string[];
  /** Methods called during the run. */
  readonly calls: readonly string[];
  readonly spoiled: number;
  /** What the handlers logged. */
  readonly lines: readonly string[];
}

/** Runs a scenario, lets the store recover, and checks every invariant. Without a fault nothing fails. */
export async function play(scenario: Scenario, immediates: Immediates, fault?: Fault): Promise<Played> {
  let calm = false;
  const plan = (clock: Clock): FaultPlan => {
    const start = clock.now();
    const spoil = (call: StoreCall): FaultWay | undefined =>
      fault?.hits(call, { ms: clock.now() - start, calm }) === true ? fault.way : undefined;
    return new FaultPlan({ clock, hangMs, spoil });
  };
  const stage = new Stage({ immediates, plan, push: scenario.push === true });
  const caller = new Caller(stage, fault?.single !== false);
  const unheard = (error: unknown): void => stage.fail(`nobody caught ${error instanceof Error ? error.stack : error}`);
  process.on("unhandledRejection", unheard);
  let calls: readonly string[] = [];
  try {
    if (!(await stage.turn(scenario.play(caller, stage), playMs))) stage.fail(`waits for ${[...stage.open].join()}`);
    calls = [...stage.plan.calls];
    calm = true;
    await recover(stage, caller);
  } catch (error) {
    stage.fail(`the play ended with ${error instanceof Error ? error.stack : error}`);
  } finally {
    process.off("unhandledRejection", unheard);
  }
  return { violations: stage.journal.violations, calls, spoiled: stage.plan.spoiled, lines: stage.lines };
}

async function recover(stage: Stage, caller: Caller): Promise<void> {
  for (let waited = 0; stage.plan.hanging > 0 && waited < playMs; waited += 1000) await stage.time.advance(1000);
  await stage.time.advance(recoverMs);
  await checkHolders(stage);
  const service = async (): Promise<void> => {
    await checkService(stage, caller);
    for (const { id, states } of stage.journal.tasks.values())
      if (!isTerminal(states.at(-1) ?? 0)) await caller.cancel(stage.there, id);
    await stage.sleep(10_000);
    await checkStored(stage, caller);
    await checkResume(stage, caller);
  };
  if (!(await stage.turn(service(), playMs))) stage.fail(`waits for ${[...stage.open].join()}`);
  await checkLeft(stage);
}
