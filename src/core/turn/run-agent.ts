import type { AgentEvent } from "../../protocol/events.js";
import { type Agent, type AgentResult, type Turn, TurnAborted } from "../agent.js";
import type { Clock } from "../ports.js";
import { createYieldBudget } from "./yield-budget.js";

// The two adapters on `turn.emit`: an async generator emits what it yields, an async function what it returns.

/** Events behind its answer after which an agent is closed. */
const maxDropped = 64;

/** The kernel's end of a turn: accepts an event, at once (`undefined`) or when the promise resolves. */
type Emit = (event: AgentEvent) => Promise<void> | undefined;

/** What a running agent needs of its turn. */
export interface Kernel {
  readonly runtime: { readonly clock: Clock };
  emit: Emit;
  /** False once the turn was cut off: then it is not pumped on. */
  alive(): boolean;
  /** True once a reply or a terminal event was emitted: what comes now is dropped. */
  readonly answered: boolean;
  /** Why the turn was told to stop, told once. */
  refusal(): unknown;
}

/** Runs an agent to its end. */
export async function runAgent(agent: Agent, turn: Turn, kernel: Kernel): Promise<void> {
  const result: AgentResult = agent(turn);
  const last = isIterable(result) ? await pump(result[Symbol.asyncIterator](), kernel) : await result;
  if (last !== undefined && last !== null && kernel.alive()) await kernel.emit(last);
}

type Step = IteratorResult<AgentEvent, unknown>;

async function pump(iterator: AsyncIterator<AgentEvent, unknown>, kernel: Kernel): Promise<AgentEvent | undefined> {
  const budget = createYieldBudget(kernel.runtime.clock);
  let dropped = 0;
  let step: Step = await iterator.next();
  while (step.done !== true) {
    let reason: unknown;
    try {
      const accepted = kernel.emit(step.value);
      if (accepted !== undefined) await accepted;
    } catch (error) {
      reason = error;
    }
    if (budget.due(kernel.answered)) await budget.take();
    // Nothing more is heard of an agent that has given its answer: one that goes on and on is closed.
    if (kernel.answered) dropped++;
    if (!kernel.alive() || dropped > maxDropped) {
      void leave(iterator);
      return undefined;
    }
    // Told to stop while it waited here: the `yield` throws, instead of letting it run to its next one.
    reason ??= kernel.refusal();
    step = reason === undefined ? await iterator.next() : await throwInto(iterator, reason);
  }
  return step.value as AgentEvent | undefined;
}

// What an iterator without `throw` cannot be told is thrown past it, after it was closed.
async function throwInto(iterator: AsyncIterator<AgentEvent, unknown>, reason: unknown): Promise<Step> {
  if (iterator.throw !== undefined) return iterator.throw(reason);
  await iterator.return?.();
  throw reason;
}

// May take for ever: a generator that waits for something is closed when that comes.
async function leave(iterator: AsyncIterator<AgentEvent, unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // No one waits for it: the reason of its abort is reported already.
  }
}

// A plain function may give nothing at all, whatever its type says.
function isIterable(result: AgentResult): result is Exclude<AgentResult, Promise<unknown>> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

/**
 * Joins several generators into one: events come as they are ready, each generator goes on when its event is accepted. An
 * error or an end of the consumer closes all; an abort is thrown into the one whose event it refuses and closes the others.
 */
export async function* merge(...sources: readonly AsyncIterable<AgentEvent>[]): AsyncGenerator<AgentEvent, void> {
  const open = new Set(sources.map((source) => source[Symbol.asyncIterator]()));
  const ready = new Map([...open].map((iterator) => [iterator, readyOf(iterator, iterator.next())]));
  const closed: Promise<unknown>[] = [];
  const closeAllBut = (spared?: AsyncIterator<AgentEvent, unknown>): void => {
    for (const iterator of open) {
      if (iterator === spared) continue;
      open.delete(iterator);
      ready.delete(iterator);
      closed.push(leave(iterator));
    }
  };
  let broken = false;
  try {
    while (ready.size > 0) {
      const { iterator, step, failure } = await Promise.race(ready.values());
      ready.delete(iterator);
      if (step?.done !== false) open.delete(iterator);
      if (failure !== undefined) {
        broken = !(failure.error instanceof TurnAborted);
        throw failure.error;
      }
      if (step.done === true) continue;
      let next: Promise<Step>;
      try {
        yield step.value;
        next = iterator.next();
      } catch (reason) {
        if (reason instanceof TurnAborted) closeAllBut(iterator);
        next = throwInto(iterator, reason);
      }
      // At the end of the race, so that a source that is always ready does not keep the others from their turn.
      ready.set(iterator, readyOf(iterator, next));
    }
  } finally {
    closeAllBut();
    // One that waits for something cannot be closed before that comes, and must not hold up the error of another.
    await (broken ? Promise.race([Promise.all(closed), nextMacrotask()]) : Promise.all(closed));
  }
}

type Ready = { readonly iterator: AsyncIterator<AgentEvent, unknown> } & (
  | { readonly step: Step; readonly failure?: undefined }
  | { readonly step?: undefined; readonly failure: { readonly error: unknown } }
);

// Never rejects: while the consumer is busy the rejection would be unhandled.
async function readyOf(iterator: AsyncIterator<AgentEvent, unknown>, step: Promise<Step>): Promise<Ready> {
  try {
    return { iterator, step: await step };
  } catch (error) {
    return { iterator, failure: { error } };
  }
}

const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
