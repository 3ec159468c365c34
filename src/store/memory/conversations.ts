import type {
  Clock,
  ContextExpiry,
  ContextValue,
  ContextValueResult,
  ContextValueWrite,
  ConversationBounds,
  ConversationQuery,
  ConversationRecord,
  ConversationWrite,
  StoredConversationRecord,
} from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { exceedsShare, ownerKey, scopeKey } from "../../protocol/fair-share.js";
import { createLink, type Link, Recency } from "../../protocol/recency.js";
import { sizeOfContextValue } from "../refusals.js";
import { takeWithin } from "../take-within.js";

// Conversations and states of contexts in memory. A context stands in three orders of use: among all contexts, among those of
// its owner at one agent (`Owner`), and among those of its owner at any agent (`Share`). Whichever bound is exceeded, the
// least recently used context of that order is dropped from all three; a context that exceeds its share alone loses the older
// half of its entries. Bytes are summed up for the context, both owners and the whole, always by `#grow`.

/** Approximate cost of a context, an entry and a value besides their content. */
const contextBytes = 640;
const entryBytes = 192;
const valueBytes = 256;

class Context {
  readonly owner: Owner;
  readonly id: string;
  entries: ConversationRecord[] = [];
  /** Number of the entry before the first one. */
  offset = 0;
  maxEntries = 0;
  expiresAt: number | undefined;
  bytes = 0;
  values: Map<string, ContextValue> | undefined;
  /** Its places among all contexts, among those of its owner at its agent, and among those of its owner at any agent. */
  readonly amongAll: Link<Context> = createLink<Context>(this);
  readonly amongOwn: Link<Context> = createLink<Context>(this);
  readonly amongShare: Link<Context> = createLink<Context>(this);

  constructor(owner: Owner, id: string) {
    this.owner = owner;
    this.id = id;
  }
}

/** The conversations of an owner at all agents. */
interface Share {
  readonly key: string;
  /** Whether its callers are distinguished from others. */
  readonly isNamed: boolean;
  readonly recency: Recency<Context>;
  bytes: number;
}

/** The conversations of an owner at one agent. */
interface Owner {
  readonly key: string;
  readonly share: Share;
  readonly contexts: Map<string, Context>;
  readonly recency: Recency<Context>;
  entries: number;
  bytes: number;
}

export interface ConversationLimits {
  /** Size of all conversations. */
  readonly maxBytes: number;
  /** Called when they have grown. */
  readonly onGrow: () => void;
}

/** Conversations and states of contexts; the least recently used are dropped first. */
export class Conversations {
  readonly #limits: ConversationLimits;
  readonly #clock: Clock;
  readonly #owners = new Map<string, Owner>();
  readonly #shares = new Map<string, Share>();
  readonly #recency = new Recency<Context>();
  #bytes = 0;

  constructor(limits: ConversationLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Size of everything that is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  add(write: ConversationWrite): void {
    const { scope, contextId, entries, maxEntries } = write;
    const context = this.#use(scope, contextId, write);
    context.maxEntries = maxEntries;
    // Most contexts have one exchange: a list of its size takes less memory than one with room for more.
    if (context.entries.length === 0) context.entries = [...entries];
    else context.entries.push(...entries);
    this.#grow(
      context,
      entries.reduce((sum, entry) => sum + measureRecord(entry), 0),
    );
    context.owner.entries += entries.length;
    const excess = context.entries.length - maxEntries;
    // Moving the rest of the list costs less than what was added since.
    if (excess > maxEntries >> 3) this.#dropEntries(context, excess);
    this.#makeRoom(context);
  }

  read(scope: Scope, contextId: string, { limit, before, maxBytes }: ConversationQuery): StoredConversationRecord[] {
    const context = this.#find(scope, contextId);
    if (context === undefined) return [];
    const { entries, offset, maxEntries } = context;
    const end = before === undefined ? entries.length : Math.min(entries.length, Math.max(0, before - offset - 1));
    const start = Math.max(0, entries.length - maxEntries, end - limit);
    const page = entries.slice(start, Math.max(start, end)).map((entry, index) => ({
      ...entry,
      number: offset + start + index + 1,
    }));
    return takeWithin(page.reverse(), ({ bytes }) => bytes, maxBytes).toReversed();
  }

  delete(scope: Scope, contextId: string): boolean {
    const context = this.#find(scope, contextId);
    if (context !== undefined) this.#drop(context);
    return context !== undefined;
  }

  bound(scope: Scope, bounds: ConversationBounds): ConversationBounds {
    const owner = this.#owners.get(scopeKey(scope));
    if (owner === undefined) return { entries: 0, bytes: 0 };
    while (!owner.recency.isSingle && (owner.entries > bounds.entries || owner.bytes > bounds.bytes)) {
      this.#dropFirst(owner.recency);
    }
    return { entries: owner.entries, bytes: owner.bytes };
  }

  value(scope: Scope, contextId: string, name: string): ContextValue | undefined {
    return this.#find(scope, contextId)?.values?.get(name);
  }

  write(scope: Scope, contextId: string, write: ContextValueWrite): ContextValueResult {
    const { name, replaces, value, maxBytes } = write;
    const values = this.#find(scope, contextId)?.values;
    const current = values?.get(name);
    if (current?.version !== replaces) return "moved";
    let total = value === undefined ? 0 : sizeOfContextValue(name, value);
    for (const [other, each] of values ?? []) if (other !== name) total += sizeOfContextValue(other, each);
    if (value !== undefined && total > maxBytes) return "full";
    const context = this.#use(scope, contextId, write);
    context.values ??= new Map();
    if (value === undefined) context.values.delete(name);
    else context.values.set(name, value);
    this.#grow(context, valueSize(name, value) - valueSize(name, current));
    this.#makeRoom(context);
    return "stored";
  }

  /** Drops the least recently used context. Returns false when there is none. */
  dropOldest(): boolean {
    return this.#dropFirst(this.#recency);
  }

  #dropFirst({ oldest }: Recency<Context>): boolean {
    if (oldest !== undefined) this.#drop(oldest);
    return oldest !== undefined;
  }

  clear(): void {
    this.#owners.clear();
    this.#shares.clear();
    this.#recency.clear();
    this.#bytes = 0;
  }

  #find(scope: Scope, contextId: string): Context | undefined {
    this.#dropExpired();
    const context = this.#owners.get(scopeKey(scope))?.contexts.get(contextId);
    if (context === undefined || !this.#isExpired(context)) return context;
    this.#drop(context);
    return undefined;
  }

  /** The context, created if it is missing, now the most recently used one. */
  #use(scope: Scope, id: string, { expiresAt }: ContextExpiry): Context {
    this.#dropExpired();
    const owner = this.#owner(scope);
    let context = owner.contexts.get(id);
    if (context === undefined) {
      context = new Context(owner, id);
      owner.contexts.set(id, context);
      this.#grow(context, contextBytes + 2 * id.length);
    } else {
      this.#unlink(context);
    }
    context.expiresAt = expiresAt;
    owner.share.recency.add(context.amongShare);
    owner.recency.add(context.amongOwn);
    this.#recency.add(context.amongAll);
    return context;
  }

  #owner(scope: Scope): Owner {
    const key = scopeKey(scope);
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      owner = { key, share: this.#share(scope), contexts: new Map(), recency: new Recency(), entries: 0, bytes: 0 };
      this.#owners.set(key, owner);
    }
    return owner;
  }

  #share(scope: Scope): Share {
    const key = ownerKey(scope);
    let share = this.#shares.get(key);
    if (share === undefined) {
      share = { key, isNamed: scope.owner !== "", recency: new Recency(), bytes: 0 };
      this.#shares.set(key, share);
    }
    return share;
  }

  #grow(context: Context, bytes: number): void {
    context.bytes += bytes;
    context.owner.bytes += bytes;
    context.owner.share.bytes += bytes;
    this.#bytes += bytes;
  }

  #dropEntries(context: Context, count: number): void {
    const entries = context.entries.splice(0, count);
    context.offset += entries.length;
    context.owner.entries -= entries.length;
    this.#grow(context, -entries.reduce((sum, entry) => sum + measureRecord(entry), 0));
  }

  // An owner whose conversations take more than half of what the others leave drops its own.
  #makeRoom(context: Context): void {
    const { share } = context.owner;
    const { maxBytes, onGrow } = this.#limits;
    const isOver = (): boolean => share.isNamed && exceedsShare(share.bytes, this.#bytes, maxBytes);
    while (share.recency.oldest !== context && isOver()) this.#dropFirst(share.recency);
    if (isOver()) this.#dropEntries(context, Math.ceil(context.entries.length / 2));
    while (this.#bytes > maxBytes && this.dropOldest());
    onGrow();
  }

  #drop(context: Context): void {
    const { owner } = context;
    this.#grow(context, -context.bytes);
    owner.entries -= context.entries.length;
    owner.contexts.delete(context.id);
    this.#unlink(context);
    if (owner.contexts.size === 0) this.#owners.delete(owner.key);
    if (owner.share.recency.oldest === undefined) this.#shares.delete(owner.share.key);
  }

  #unlink(context: Context): void {
    const { owner, amongAll, amongOwn, amongShare } = context;
    this.#recency.delete(amongAll);
    owner.recency.delete(amongOwn);
    owner.share.recency.delete(amongShare);
  }

  #isExpired({ expiresAt }: Context): boolean {
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }

  // The least recently used are the first to expire, unless agents keep them for different times.
  #dropExpired(): void {
    for (;;) {
      const { oldest } = this.#recency;
      if (oldest === undefined || !this.#isExpired(oldest)) return;
      this.#drop(oldest);
    }
  }
}

function measureRecord({ id, taskId, bytes }: ConversationRecord): number {
  return entryBytes + id.length + taskId.length + bytes;
}

function valueSize(name: string, value: ContextValue | undefined): number {
  return value === undefined ? 0 : valueBytes + 2 * (name.length + value.json.length);
}
