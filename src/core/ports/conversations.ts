import type { Scope } from "../../protocol/context.js";
import type { Artifact, Message } from "../../protocol/model.js";
import type { PortMethods } from "./methods.js";

// Contexts: what was said in them over all tasks, and their small state.
//
// A context is a row with the number of its last entry, and an entry is a row under that number, so that a page is one
// walk of an index.

/** One entry of a conversation: a message of the caller, a message of the agent, or an artifact. */
export interface ConversationRecord {
  readonly kind: "user" | "agent" | "artifact";
  /** Id of the message or the artifact. */
  readonly id: string;
  /** The task that it belongs to; `""` for a message without a task and its reply. */
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `undefined` when it is too large to be copied: then its task has it. Not modified afterwards. */
  readonly content: Message | Artifact | undefined;
  /** Approximate size of the content in bytes; 0 without one. */
  readonly bytes: number;
}

/** An entry with its number, which ascends within its context in the order in which the store took the entries. */
export interface StoredConversationRecord extends ConversationRecord {
  readonly number: number;
}

/** How long a context is kept. */
export interface ContextExpiry {
  /** When it is written, in milliseconds since the epoch. Of an owner's contexts the least recent ones go first. */
  readonly usedAt: number;
  /** From when on it may be dropped, in milliseconds since the epoch; `undefined`: never. */
  readonly expiresAt: number | undefined;
}

/** Entries to be added to one context, which is created if it is missing. */
export interface ConversationWrite extends ContextExpiry {
  readonly scope: Scope;
  readonly contextId: string;
  /** In order. */
  readonly entries: readonly ConversationRecord[];
  /** From now on only so many of the latest entries of the context are shown; the store drops the others. */
  readonly maxEntries: number;
}

/** A page of a conversation. */
export interface ConversationQuery {
  readonly limit: number;
  /** Only entries with a lower number. Default: the latest. */
  readonly before?: number | undefined;
  /** The page has the latest entries that fit into this size, and one at least. */
  readonly maxBytes: number;
}

/** How much is kept for one owner at one agent. */
export interface ConversationBounds {
  readonly entries: number;
  /** Of entries and state. */
  readonly bytes: number;
}

/** A value of a context's state. */
export interface ContextValue {
  /** Changes with every write. */
  readonly version: string;
  /** The value as JSON text. */
  readonly json: string;
}

/** Replaces a value, or deletes it. */
export interface ContextValueWrite extends ContextExpiry {
  readonly name: string;
  /** The version that is replaced; `undefined`: there is no value. */
  readonly replaces: string | undefined;
  /** Default: the value is deleted. */
  readonly value?: ContextValue | undefined;
  /** Size of the names and values of the context in UTF-8 bytes, beyond which nothing is written. */
  readonly maxBytes: number;
}

/** `moved`: the value has another version than `replaces`. `full`: it would go over `maxBytes`. */
export type ContextValueResult = "stored" | "moved" | "full";

/**
 * Conversations of contexts. The entries of a task come with its writes; see `Append.conversation`. A context of another
 * scope has another conversation and another state, whatever its id.
 */
export interface Conversations {
  /** Adds entries that belong to no write of a task. Writes to the same context are applied in order. */
  addToConversations(writes: readonly ConversationWrite[]): Promise<void>;
  /** The latest entries, oldest first. */
  readConversation(
    scope: Scope,
    contextId: string,
    query: ConversationQuery,
  ): Promise<readonly StoredConversationRecord[]>;
  /** Deletes the entries and the state of a context. Returns false when there are none. */
  deleteConversation(scope: Scope, contextId: string): Promise<boolean>;
  /**
   * Deletes the least recently used contexts of the scope until the others are within the bounds, but never the latest
   * one. Returns what is left.
   */
  boundConversations(scope: Scope, bounds: ConversationBounds): Promise<ConversationBounds>;
  /** A value of the state of a context; `undefined` when there is none. */
  readContextValue(scope: Scope, contextId: string, name: string): Promise<ContextValue | undefined>;
  /** Rejects with `invalidParams` for a context id or a name that is too long, as `create` does. */
  writeContextValue(scope: Scope, contextId: string, write: ContextValueWrite): Promise<ContextValueResult>;
}

export const conversationCalls = {
  addToConversations: "write",
  readConversation: "read",
  deleteConversation: "write",
  boundConversations: "write",
  readContextValue: "read",
  writeContextValue: "write",
} as const satisfies PortMethods<Conversations>;
