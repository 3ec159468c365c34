import type { AgentEvent } from "../protocol/events.js";
import type { Agent, AgentResult, Turn } from "./agent.js";
import { createBreath } from "./breath.js";
import type { Clock } from "./ports.js";

// The two adapters on `turn.emit`: an async generator emits what it yields, an async function what it returns.

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
  const breath = createBreath(kernel.runtime.clock);
  let step: Step = await iterator.next();
  while (step.done !== true) {
    let reason: unknown;
    try {
      const accepted = kernel.emit(step.value);
      if (accepted !== undefined) await accepted;
    } catch (error) {
      reason = error;
    }
    if (breath.due(kernel.answered)) await breath.take();
    if (!kernel.alive()) {
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

// A turn that was cut off is not waited for: its generator may never come back.
async function leave(iterator: AsyncIterator<AgentEvent, unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Nobody is there to hear it: the turn has ended with its own error already.
  }
}

// A plain function may give nothing at all, whatever its type says.
function isIterable(result: AgentResult): result is Exclude<AgentResult, Promise<unknown>> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

/** Joins several generators into one: events come as they are ready, an error or an end of the consumer closes all. */
export async function* merge(...sources: readonly AsyncIterable<AgentEvent>[]): AsyncGenerator<AgentEvent, void> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const pending = new Map(iterators.map((iterator, index) => [index, nextOf(iterator, index)]));
  try {
    while (pending.size > 0) {
      const { index, step } = await Promise.race(pending.values());
      const iterator = iterators[index];
      if (step.done === true || iterator === undefined) {
        pending.delete(index);
        continue;
      }
      // Moved to the end of the race, so that a source that is always ready does not keep the others from their turn.
      pending.delete(index);
      pending.set(index, nextOf(iterator, index));
      yield step.value;
    }
  } finally {
    for (const promise of pending.values()) promise.catch(() => {});
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.()));
  }
}

async function nextOf(
  iterator: AsyncIterator<AgentEvent, unknown>,
  index: number,
): Promise<{ readonly index: number; readonly step: IteratorResult<AgentEvent, unknown> }> {
  return { index, step: await iterator.next() };
}
