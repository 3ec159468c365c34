import type { Scope } from "../../protocol/context.js";
import { scopeKey } from "../../protocol/fair-share.js";
import type { Logger } from "../../protocol/logger.js";
import type { Lease } from "../lease.js";
import type { CoreLimits } from "../limits.js";
import type { Clock, ContextExpiry, ConversationRecord, ConversationWrite, TaskStore } from "../ports.js";

// Conversations: what was said in a context over all of its tasks, and the state that agents keep there.

/** How much of each conversation is stored. */
export interface ConversationOptions {
  /**
   * How long a context is kept after its last entry or change of its state, in milliseconds; `Infinity` keeps it for
   * ever. Default: 30 days.
   */
  readonly keepMs?: number | undefined;
  /** Number of latest entries that are kept of a context; 0 keeps only its state. Default: 1,000. */
  readonly maxEntries?: number | undefined;
}

/** Dependencies of writes to conversations. */
export interface ConversationDeps {
  readonly store: Pick<TaskStore, "addToConversations" | "boundConversations">;
  readonly lease: Pick<Lease, "storeTime">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: CoreLimits;
}

const dayMs = 24 * 3_600_000;

/** Number of owners remembered. A forgotten one is counted again. */
const ownersMax = 10_000;

/** The share of its limits that an owner may write until it is counted again. */
const uncountedShare = 1 / 8;

interface Room {
  entries: number;
  bytes: number;
}

/** Makes the writes to conversations, and bounds what is kept for each owner. */
export class ConversationLog {
  readonly maxEntries: number;
  readonly entryMaxBytes: number;
  readonly #keepMs: number;
  readonly #deps: ConversationDeps;
  /** How much each owner may write until it is counted. */
  readonly #rooms = new Map<string, Room>();
  readonly #isBounded: boolean;

  constructor(deps: ConversationDeps, { keepMs = 30 * dayMs, maxEntries = 1_000 }: ConversationOptions) {
    const { conversationEntryMaxBytes, conversationEntriesPerOwner, conversationOwnerMaxBytes } = deps.limits;
    this.#deps = deps;
    this.#keepMs = keepMs;
    this.maxEntries = maxEntries;
    this.entryMaxBytes = Math.min(conversationEntryMaxBytes, conversationOwnerMaxBytes);
    this.#isBounded = Math.min(conversationEntriesPerOwner, conversationOwnerMaxBytes) < Number.POSITIVE_INFINITY;
  }

  /** When a context that is used now may be dropped. */
  expiry(at: number): ContextExpiry {
    if (this.#keepMs === Number.POSITIVE_INFINITY) return { usedAt: at, expiresAt: undefined };
    return { usedAt: at, expiresAt: at + this.#keepMs };
  }

  /** The time of the store. */
  now(): number {
    return this.#deps.lease.storeTime();
  }

  /** A write of entries; `undefined` if there are none. */
  write(
    scope: Scope,
    contextId: string,
    { entries, at }: { readonly entries: readonly ConversationRecord[]; readonly at: number },
  ): ConversationWrite | undefined {
    if (entries.length === 0 || this.maxEntries === 0) return undefined;
    if (this.#isBounded) this.#count(scope, entries);
    const { maxEntries } = this;
    return { scope, contextId, entries, maxEntries, ...this.expiry(at) };
  }

  #count(scope: Scope, entries: readonly ConversationRecord[]): void {
    const owner = scopeKey(scope);
    const { conversationEntriesPerOwner: maxEntries, conversationOwnerMaxBytes: maxBytes } = this.#deps.limits;
    const room = this.#rooms.get(owner) ?? { entries: maxEntries * uncountedShare, bytes: maxBytes * uncountedShare };
    room.entries -= entries.length;
    for (const { bytes } of entries) room.bytes -= bytes;
    if (room.entries > 0 && room.bytes > 0) this.#remember(owner, room);
    else void this.#bound(scope, owner);
  }

  // Prunes to below the limits, so that the owner is counted again only after many more entries.
  async #bound(scope: Scope, owner: string): Promise<void> {
    const { conversationEntriesPerOwner: maxEntries, conversationOwnerMaxBytes: maxBytes } = this.#deps.limits;
    this.#remember(owner, { entries: maxEntries * uncountedShare, bytes: maxBytes * uncountedShare });
    try {
      const bounds = { entries: maxEntries * (1 - uncountedShare), bytes: maxBytes * (1 - uncountedShare) };
      await this.#deps.store.boundConversations(scope, bounds);
    } catch (err) {
      this.#deps.logger.debug({ err }, "the conversations of an owner could not be bounded");
    }
  }

  #remember(owner: string, room: Room): void {
    this.#rooms.delete(owner);
    this.#rooms.set(owner, room);
    const [oldest] = this.#rooms.keys();
    if (this.#rooms.size > ownersMax && oldest !== undefined) this.#rooms.delete(oldest);
  }
}
