import type { AgentEvent } from "../../protocol/events.js";
import { isObject } from "../../protocol/kinds.js";
import { type Agent, type AgentResult, type Turn, TurnAborted } from "../agent.js";
import type { TurnRun } from "./run.js";

// How events leave the agent: an async generator emits what it yields, an async function what it returns, and either may
// call `turn.emit`. A generator continues once its event was accepted. A refusal and an abort are thrown into it, at the
// `yield` where it waits. `YieldBudget` lets other work run between the events of an agent that never waits.

/** Number of events after the final answer at which an agent is closed. */
const maxDropped = 64;

/** Runs an agent to its end. Throws what it throws at once. */
export function runAgent(agent: Agent, turn: Turn, run: TurnRun): Promise<void> {
  const result: AgentResult = agent(turn);
  return isIterable(result) ? pump(result[Symbol.asyncIterator](), run) : emitResult(result, run);
}

async function emitResult(result: Promise<unknown>, run: TurnRun): Promise<void> {
  await emitLast(await result, run);
}

/** Emits what an agent has returned, if that is an event. */
function emitLast(last: unknown, run: TurnRun): Promise<void> | undefined {
  return last === undefined || last === null || run.isEnding ? undefined : run.emit(last as AgentEvent);
}

type AgentStep = IteratorResult<AgentEvent, unknown>;

async function pump(iterator: AsyncIterator<AgentEvent, unknown>, run: TurnRun): Promise<void> {
  const budget = new YieldBudget(run);
  let droppedCount = 0;
  let step: AgentStep = await iterator.next();
  while (step.done !== true) {
    let reason: unknown;
    try {
      const accepted = run.emit(step.value);
      if (accepted !== undefined) await accepted;
    } catch (error) {
      reason = error;
    }
    if (budget.count()) await budget.yield();
    // Events after the final answer are dropped, and an agent that keeps yielding is closed.
    if (run.isOutputClosed) droppedCount++;
    if (run.isEnding || droppedCount > maxDropped) {
      void leave(iterator);
      return;
    }
    // Aborted while it waited here: the `yield` throws instead of running on to the next one.
    reason ??= run.takeAbortReason();
    step = reason === undefined ? await iterator.next() : await throwInto(iterator, reason);
  }
  const last = emitLast(step.value, run);
  if (last !== undefined) await last;
}

const burstEvents = 64;
const burstMs = 1;

/**
 * Keeps an agent that never waits from starving the process: it leaves the microtask queue after the first event, then
 * after every millisecond or 64 events. An agent whose first event is its answer continues at once.
 */
export class YieldBudget {
  readonly #run: TurnRun;
  #remaining = 0;
  #resumedAt: number;

  constructor(run: TurnRun) {
    this.#run = run;
    this.#resumedAt = run.runtime.clock.now();
  }

  /** Counts an event. Returns whether the agent must yield now. */
  count(): boolean {
    if (this.#remaining === 0 && this.#run.isOutputClosed) this.#remaining = burstEvents;
    return --this.#remaining < 0 || this.#run.runtime.clock.now() - this.#resumedAt > burstMs;
  }

  /** Resolves when the turn may continue. */
  yield(): Promise<void> {
    const { runtime, scope } = this.#run;
    return new Promise((resolve) => {
      runtime.yields.take(scope, () => {
        this.#remaining = burstEvents - 1;
        this.#resumedAt = runtime.clock.now();
        resolve();
      });
    });
  }
}

// For an iterator without `throw`, the reason is thrown here after it was closed.
async function throwInto(iterator: AsyncIterator<AgentEvent, unknown>, reason: unknown): Promise<AgentStep> {
  if (iterator.throw !== undefined) return iterator.throw(reason);
  await iterator.return?.();
  throw reason;
}

// May never resolve: a generator that awaits something closes only when that settles.
async function leave(iterator: AsyncIterator<AgentEvent, unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Nothing waits for it: the reason of its abort was already reported.
  }
}

// A plain function may return nothing, whatever its type says.
function isIterable(result: AgentResult): result is Exclude<AgentResult, Promise<unknown>> {
  return isObject(result) && Symbol.asyncIterator in result;
}

/**
 * Merges generators that run concurrently: yields events as they are ready, and continues each generator when its event
 * is accepted. An error, or the consumer's return, closes all of them. An abort is thrown into the generator whose
 * event is refused, and closes the others.
 *
 * @example
 * ```ts
 * const agent: Agent = ({ text }) => merge(search(`news ${text}`), search(`papers ${text}`));
 * ```
 */
export async function* merge(...sources: readonly AsyncIterable<AgentEvent>[]): AsyncGenerator<AgentEvent, void> {
  const open = new Set(sources.map((source) => source[Symbol.asyncIterator]()));
  const ready = new Map([...open].map((iterator) => [iterator, settleStep(iterator, iterator.next())]));
  const closings: Promise<unknown>[] = [];
  const closeAllBut = (except?: AsyncIterator<AgentEvent, unknown>): void => {
    for (const iterator of open) {
      if (iterator === except) continue;
      open.delete(iterator);
      ready.delete(iterator);
      closings.push(leave(iterator));
    }
  };
  const refuse = (iterator: AsyncIterator<AgentEvent, unknown>, reason: unknown): Promise<AgentStep> => {
    if (reason instanceof TurnAborted) closeAllBut(iterator);
    return throwInto(iterator, reason);
  };
  let hasFailed = false;
  try {
    while (ready.size > 0) {
      const { iterator, step, failure } = await Promise.race(ready.values());
      ready.delete(iterator);
      if (step?.done !== false) open.delete(iterator);
      if (failure !== undefined) {
        hasFailed = !(failure.error instanceof TurnAborted);
        throw failure.error;
      }
      if (step.done === true) continue;
      let next: Promise<AgentStep>;
      try {
        yield step.value;
        next = iterator.next();
      } catch (reason) {
        next = refuse(iterator, reason);
      }
      // At the end of the race, so that a source that is always ready does not starve the others.
      ready.set(iterator, settleStep(iterator, next));
    }
  } finally {
    closeAllBut();
    // A source that awaits something closes only when that settles, and must not delay another source's error.
    await (hasFailed ? Promise.race([Promise.all(closings), nextMacrotask()]) : Promise.all(closings));
  }
}

type ReadyStep = { readonly iterator: AsyncIterator<AgentEvent, unknown> } & (
  | { readonly step: AgentStep; readonly failure?: undefined }
  | { readonly step?: undefined; readonly failure: { readonly error: unknown } }
);

// Never rejects: while the consumer is busy a rejection would be unhandled.
async function settleStep(iterator: AsyncIterator<AgentEvent, unknown>, step: Promise<AgentStep>): Promise<ReadyStep> {
  try {
    return { iterator, step: await step };
  } catch (error) {
    return { iterator, failure: { error } };
  }
}

const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
