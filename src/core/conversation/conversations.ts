import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import type { Scope } from "../../protocol/context.js";
import type { Message } from "../../protocol/model.js";
import type { ConversationWrite } from "../ports.js";
import type { StoreHealth } from "../store-health.js";
import { messageEntry } from "./entries.js";
import { type ConversationDeps, ConversationLog, type ConversationOptions } from "./log.js";

// What an agent remembers of its contexts. The entries of a task travel with its writes
// (`core/task/conversation-tracker.ts`). A direct reply has no task: it is recorded after it is sent, at most once, so
// that its call does not wait for the store.

/** An agent's memory of its contexts: the log of conversations, and the replies that no task records. */
export interface AgentConversations {
  readonly log: ConversationLog;
  readonly replies: DirectReplies;
}

/** Opens the conversations of an agent; `undefined` when they are off. */
export function openConversations(
  deps: DirectReplyDeps,
  options: ConversationOptions | false | undefined,
): AgentConversations | undefined {
  if (options === false) return undefined;
  const log = new ConversationLog(deps, options ?? {});
  return { log, replies: new DirectReplies(log, deps) };
}

/** Exchanges that wait for the store, at most. */
const maxWaiting = 10_000;
const maxWaitingBytes = 8 << 20;
/** Exchanges in one write. */
const maxBatch = 256;
/** How long an exchange waits for others that share its write. */
const gatherMs = 20;
/** Pause before the next try while the store is away. */
const awayMs = 1_000;

interface SizedMessage {
  readonly message: Message;
  readonly bytes: number;
}

interface Exchange {
  readonly scope: Scope;
  readonly sent: SizedMessage;
  readonly reply: SizedMessage;
}

/** Dependencies of direct replies besides the log. */
export interface DirectReplyDeps extends ConversationDeps {
  readonly health: Pick<StoreHealth, "away">;
}

/**
 * Records messages that were answered without a task. It writes after the answer was sent, so that a call only waits
 * for a queue. Failed writes are not retried, since a retry could record an exchange twice.
 */
class DirectReplies {
  readonly #log: ConversationLog;
  readonly #deps: DirectReplyDeps;
  #queue: Exchange[] = [];
  /** Size of what waits and of what is being written. */
  #bytes = 0;
  #isScheduled = false;
  readonly #writes = new Set<Promise<void>>();
  #cancel = noop;
  #lostCount = 0;

  constructor(log: ConversationLog, deps: DirectReplyDeps) {
    this.#log = log;
    this.#deps = deps;
  }

  /** Takes a message and the reply that was its whole answer. */
  add(scope: Scope, sent: SizedMessage, reply: SizedMessage): void {
    if (this.#log.maxEntries === 0) return;
    if (this.#queue.length >= maxWaiting || this.#bytes >= maxWaitingBytes) {
      this.#lostCount += 1;
      return;
    }
    this.#bytes += sent.bytes + reply.bytes;
    this.#queue.push({ scope, sent, reply });
    this.#schedule();
  }

  /** Writes the queue now, so that later messages of a task follow it. */
  flushNow(): void {
    if (this.#queue.length === 0) return;
    if (this.#deps.health.away) return this.#schedule(awayMs);
    while (this.#queue.length > 0) {
      const write: Promise<void> = this.#write(this.#queue.splice(0, maxBatch)).finally(() => {
        this.#writes.delete(write);
        this.#schedule();
      });
      this.#writes.add(write);
    }
  }

  /** Resolves when everything taken so far is stored or lost, or after `storeWaitMs`; at once while the store is away. */
  async flush(): Promise<void> {
    const { clock, limits } = this.#deps;
    this.flushNow();
    if (this.#writes.size > 0) await within(clock, limits.storeWaitMs, Promise.all(this.#writes).then(noop));
  }

  /** Writes what waits, as far as the store takes it. */
  async close(): Promise<void> {
    await this.flush();
    this.#cancel();
    this.#lostCount += this.#queue.length;
    this.#queue = [];
    this.#logLost();
  }

  // A write of its own for each exchange cost a call 15 % (Node 24.21).
  #schedule(ms = gatherMs): void {
    if (this.#isScheduled || this.#writes.size > 0 || this.#queue.length === 0) return;
    this.#isScheduled = true;
    this.#cancel = this.#deps.clock.after(ms, () => {
      this.#isScheduled = false;
      this.flushNow();
    });
  }

  async #write(batch: readonly Exchange[]): Promise<void> {
    const { store } = this.#deps;
    try {
      await store.addToConversations(batch.flatMap((exchange) => this.#createWrite(exchange) ?? []));
    } catch {
      this.#lostCount += batch.length;
    }
    for (const { sent, reply } of batch) this.#bytes -= sent.bytes + reply.bytes;
    this.#logLost();
  }

  #logLost(): void {
    if (this.#lostCount === 0) return;
    this.#deps.logger.warn(
      { lost: this.#lostCount },
      "direct replies are missing in their conversations: the task store failed or was too slow",
    );
    this.#lostCount = 0;
  }

  #createWrite({ scope, sent, reply }: Exchange): ConversationWrite | undefined {
    const at = this.#log.now();
    const facts = { taskId: "", at, maxBytes: this.#log.entryMaxBytes };
    const entries = [messageEntry(sent.message, facts, sent.bytes), messageEntry(reply.message, facts, reply.bytes)];
    return this.#log.write(scope, reply.message.contextId, { entries, at });
  }
}

/** The error for an agent that uses what `conversations: false` has switched off. */
export function conversationsOff(feature: string): TypeError {
  return new TypeError(
    `${feature} needs conversations, which are off: remove \`conversations: false\` from the options of the agent`,
  );
}
