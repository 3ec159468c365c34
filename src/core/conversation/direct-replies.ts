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
/**
 * Exchanges that are kept for an agent that has not read a conversation yet. With few of them most die young: keeping a
 * thousand cost a call of the memory store 10 %, in garbage collection (Node 24.21).
 */
const maxUnread = 64;
const maxUnreadBytes = 1 << 20;
/** Exchanges in one write. */
const maxBatch = 256;
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
 * queue. Nothing is written twice: what the store may not have taken is lost. An agent that has read no conversation in
 * this process may never do so: then only its latest exchanges are kept, and written when it does.
 */
export class DirectReplies {
  readonly #log: ConversationLog;
  readonly #deps: DirectReplyDeps;
  /** Whether exchanges are written at once. */
  #isRead: boolean;
  #waiting: Exchange[] = [];
  #bytes = 0;
  #isScheduled = false;
  #writing: Promise<void> | undefined;
  #cancel = noop;
  #lost = 0;

  /** `isRead`: the agent reads conversations, so that every exchange is written. */
  constructor(log: ConversationLog, deps: DirectReplyDeps, isRead: boolean) {
    this.#log = log;
    this.#deps = deps;
    this.#isRead = isRead;
  }

  /** Takes a message and the reply that was its whole answer. */
  add(scope: Scope, message: Message, reply: Message): void {
    if (this.#log.maxEntries === 0) return;
    if (this.#isRead && (this.#waiting.length >= maxWaiting || this.#bytes >= maxWaitingBytes)) {
      this.#lost += 1;
      return;
    }
    const bytes = sizeOfMessage(message) + sizeOfMessage(reply);
    this.#bytes += bytes;
    this.#waiting.push({ scope, message, reply, bytes });
    if (this.#isRead) this.#schedule();
    else this.#forget();
  }

  // Rarely, since it moves what is left.
  #forget(): void {
    if (this.#waiting.length < 2 * maxUnread && this.#bytes < 2 * maxUnreadBytes) return;
    while (this.#waiting.length > maxUnread || this.#bytes > maxUnreadBytes) {
      const count = Math.max(1, this.#waiting.length >> 1);
      for (const { bytes } of this.#waiting.splice(0, count)) this.#bytes -= bytes;
    }
  }

  /** Hands what waits to the store now, so that what is said later in a task follows it. */
  hurry(): void {
    if (this.#isRead && this.#waiting.length > 0 && this.#writing === undefined) void this.#start();
  }

  /** Resolves when everything taken so far is stored or lost, or after `storeWaitMs`; at once while the store is away. */
  async flushed(): Promise<void> {
    this.#isRead = true;
    const { clock, limits } = this.#deps;
    if (this.#writing !== undefined || this.#waiting.length > 0)
      await within(clock, limits.storeWaitMs, this.#written());
  }

  /** Writes what waits, as far as the store takes it. */
  async close(): Promise<void> {
    await this.flushed();
    this.#cancel();
    this.#waiting = [];
  }

  async #written(): Promise<void> {
    while (!this.#deps.health.away && (this.#writing !== undefined || this.#waiting.length > 0)) {
      await (this.#writing ?? this.#start());
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writing !== undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.hurry();
    });
  }

  #start(): Promise<void> {
    this.#writing = this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { clock, health, logger, store } = this.#deps;
    while (this.#waiting.length > 0) {
      if (health.away) {
        this.#cancel();
        this.#cancel = clock.after(awayMs, () => this.#schedule());
        return;
      }
      const batch = this.#waiting.splice(0, maxBatch);
      for (const { bytes } of batch) this.#bytes -= bytes;
      try {
        await store.addToConversations(batch.flatMap((exchange) => this.#writeOf(exchange) ?? []));
      } catch {
        this.#lost += batch.length;
      }
      if (this.#lost === 0) continue;
      logger.warn(
        { lost: this.#lost },
        "direct replies are missing in their conversations: the task store failed or was too slow",
      );
      this.#lost = 0;
    }
  }

  #writeOf({ scope, message, reply }: Exchange): ConversationWrite | undefined {
    const at = this.#log.now();
    const facts = { taskId: "", at, maxBytes: this.#log.entryMaxBytes };
    const entries = [messageEntry(message, facts), messageEntry(reply, facts)];
    return this.#log.write(scope, reply.contextId, { entries, at });
  }
}
