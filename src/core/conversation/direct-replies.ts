import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { sizeOfMessage } from "../../protocol/check/size.js";
import type { Scope } from "../../protocol/context.js";
import type { Message } from "../../protocol/model.js";
import type { ConversationWrite } from "../ports.js";
import type { StoreHealth } from "../store-health.js";
import { messageEntry } from "./entries.js";
import type { ConversationDeps, ConversationLog } from "./log.js";

/** Exchanges that wait for the store, at most. */
const maxWaiting = 10_000;
const maxWaitingBytes = 8 << 20;
/** Exchanges in one write. */
const maxBatch = 256;
/** How long an exchange waits for others that share its write. */
const gatherMs = 20;
/** Pause before the next try while the store is away. */
const awayMs = 1_000;

interface Exchange {
  readonly scope: Scope;
  readonly message: Message;
  readonly reply: Message;
  readonly bytes: number;
}

/** What direct replies need beside the log. */
export interface DirectReplyDeps extends ConversationDeps {
  readonly health: Pick<StoreHealth, "away">;
}

/**
 * Records messages that were answered without a task, behind their answers: a call costs no more than a place in a
 * queue. Nothing is written twice: what the store may not have taken is lost.
 */
export class DirectReplies {
  readonly #log: ConversationLog;
  readonly #deps: DirectReplyDeps;
  #waiting: Exchange[] = [];
  /** Size of what waits and of what is being written. */
  #bytes = 0;
  #isScheduled = false;
  readonly #writes = new Set<Promise<void>>();
  #cancel = noop;
  #lost = 0;

  constructor(log: ConversationLog, deps: DirectReplyDeps) {
    this.#log = log;
    this.#deps = deps;
  }

  /** Takes a message and the reply that was its whole answer. */
  add(scope: Scope, message: Message, reply: Message): void {
    if (this.#log.maxEntries === 0) return;
    if (this.#waiting.length >= maxWaiting || this.#bytes >= maxWaitingBytes) {
      this.#lost += 1;
      return;
    }
    const bytes = sizeOfMessage(message) + sizeOfMessage(reply);
    this.#bytes += bytes;
    this.#waiting.push({ scope, message, reply, bytes });
    this.#schedule();
  }

  /** Hands what waits to the store now, so that what is said later in a task follows it. */
  hurry(): void {
    if (this.#waiting.length === 0) return;
    if (this.#deps.health.away) return this.#schedule(awayMs);
    while (this.#waiting.length > 0) {
      const write: Promise<void> = this.#write(this.#waiting.splice(0, maxBatch)).finally(() => {
        this.#writes.delete(write);
        this.#schedule();
      });
      this.#writes.add(write);
    }
  }

  /** Resolves when everything taken so far is stored or lost, or after `storeWaitMs`; at once while the store is away. */
  async flushed(): Promise<void> {
    const { clock, limits } = this.#deps;
    this.hurry();
    if (this.#writes.size > 0) await within(clock, limits.storeWaitMs, Promise.all(this.#writes).then(noop));
  }

  /** Writes what waits, as far as the store takes it. */
  async close(): Promise<void> {
    await this.flushed();
    this.#cancel();
    this.#waiting = [];
  }

  // A write of its own for each exchange cost a call 15 % (Node 24.21).
  #schedule(ms = gatherMs): void {
    if (this.#isScheduled || this.#writes.size > 0 || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#cancel = this.#deps.clock.after(ms, () => {
      this.#isScheduled = false;
      this.hurry();
    });
  }

  async #write(batch: readonly Exchange[]): Promise<void> {
    const { logger, store } = this.#deps;
    try {
      await store.addToConversations(batch.flatMap((exchange) => this.#writeOf(exchange) ?? []));
    } catch {
      this.#lost += batch.length;
    }
    for (const { bytes } of batch) this.#bytes -= bytes;
    if (this.#lost === 0) return;
    logger.warn(
      { lost: this.#lost },
      "direct replies are missing in their conversations: the task store failed or was too slow",
    );
    this.#lost = 0;
  }

  #writeOf({ scope, message, reply }: Exchange): ConversationWrite | undefined {
    const at = this.#log.now();
    const facts = { taskId: "", at, maxBytes: this.#log.entryMaxBytes };
    const entries = [messageEntry(message, facts), messageEntry(reply, facts)];
    return this.#log.write(scope, reply.contextId, { entries, at });
  }
}
