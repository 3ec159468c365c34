import type { JsonValue } from "@bufbuild/protobuf";
import type { FileContent, ReadData } from "../protocol/content/read.js";
import type { StandardSchema } from "../protocol/content/schema.js";
import type { Artifact, Message } from "../protocol/model.js";

// A context as its agent sees it.

/** Which entries of a conversation to read. */
export interface ConversationPage {
  /** How many of the latest entries, from 1 to 1,000. Default: 50. */
  readonly last?: number | undefined;
  /** Only entries before this one, or before the one with this `cursor`. Default: up to the message that is answered. */
  readonly before?: ConversationEntry | string | undefined;
}

/** One entry of a conversation: a message, or an artifact of the agent. */
export interface ConversationEntry {
  /** Whose it is: the caller's or the agent's. */
  readonly role: "user" | "agent";
  /** Its text parts, joined. */
  readonly text: string;
  /** The first data part as plain JSON, or as a Standard Schema makes it. */
  readonly data: ReadData;
  /** Its files. */
  readonly files: readonly FileContent[];
  /** When it was stored, by the store's clock. */
  readonly at: Date;
  /** The task that it belongs to; `undefined` for a message without a task and its reply. */
  readonly taskId: string | undefined;
  /** Its place in the conversation, for `before`. Valid while the conversation is kept. */
  readonly cursor: string;
  /** The message; `undefined` for an artifact, and for what is missing. */
  readonly message: Message | undefined;
  /** The artifact; `undefined` for a message, and for what is missing. */
  readonly artifact: Artifact | undefined;
  /**
   * Why the entry is empty: it is over 64 KiB, and its task is gone (`"dropped"`), or there is no task that has it or no
   * room for it in this page (`"large"`). `undefined` for an entry that is there.
   */
  readonly missing: "dropped" | "large" | undefined;
}

/** The small state of a context, which all its tasks share. */
export interface ContextState {
  /** The value under a key; `undefined` when there is none. */
  get(key: string): Promise<JsonValue | undefined>;
  /**
   * The value under a key as a Standard Schema (zod, valibot, arktype) makes it; `undefined` when there is none. Rejects
   * with a `TypeError` that has the path of the first violation, which fails the turn, and for an asynchronous schema.
   */
  get<T>(key: string, schema: StandardSchema<T>): Promise<T | undefined>;
  /**
   * Replaces a value by what `change` makes of it; `undefined` deletes it. Runs `change` again when another turn was
   * faster, and may run it again when the store fails. Resolves with the new value once it is stored. Rejects with
   * `resourceExhausted` when the state of the context would be larger than 64 KiB (limit `contextStateMaxBytes`), with a
   * `TypeError` for a value that is not JSON, and with what `change` throws.
   */
  update(
    key: string,
    change: (old: JsonValue | undefined) => JsonValue | undefined | Promise<JsonValue | undefined>,
  ): Promise<JsonValue | undefined>;
}
