import type { JsonValue } from "@bufbuild/protobuf";
import type { FileContent, ReadData } from "../protocol/content/read.js";
import type { StandardSchema } from "../protocol/content/schema.js";
import type { Artifact, Message } from "../protocol/model.js";

// A context as its agent sees it.

/** Which entries of a conversation to read. */
export interface ConversationPage {
  /** Number of latest entries, from 1 to 1,000. Default: 50. */
  readonly last?: number | undefined;
  /**
   * Only entries before this one, or before the one with this `cursor`. Default: before the message that the turn
   * answers.
   */
  readonly before?: ConversationEntry | string | undefined;
}

/** One entry of a conversation: a message, or an artifact of the agent. */
export interface ConversationEntry {
  /** The sender: `"user"` is the caller. */
  readonly role: "user" | "agent";
  /** Its text parts, joined. */
  readonly text: string;
  /** Its first data part as plain JSON, or as a Standard Schema parses it. */
  readonly data: ReadData;
  /** Its files. */
  readonly files: readonly FileContent[];
  /** When it was stored, by the store's clock. */
  readonly at: Date;
  /** The task that it belongs to; `undefined` for a direct reply and the message before it. */
  readonly taskId: string | undefined;
  /** Its position in the conversation, for `before`. Valid while the conversation is stored. */
  readonly cursor: string;
  /** The message; `undefined` for an artifact and for a missing entry. */
  readonly message: Message | undefined;
  /** The artifact; `undefined` for a message and for a missing entry. */
  readonly artifact: Artifact | undefined;
  /**
   * Why the entry is empty: it is over 64 KiB, and its task is gone (`"dropped"`), or there is no task that has it or no
   * room for it in this page (`"large"`). `undefined` for an entry that is there.
   */
  readonly missing: "dropped" | "large" | undefined;
}

/** Small state of a context, shared by all its tasks. */
export interface ContextState {
  /** The value under a key; `undefined` when there is none. */
  get(key: string): Promise<JsonValue | undefined>;
  /**
   * The value of a key as a Standard Schema (zod, valibot, arktype) parses it; `undefined` when there is none. Rejects
   * with a `TypeError` that names the path of the first violation, and for an asynchronous schema.
   */
  get<T>(key: string, schema: StandardSchema<T>): Promise<T | undefined>;
  /**
   * Replaces a value by the result of `change`; `undefined` deletes it. Calls `change` again if another turn has
   * changed the value meanwhile, and perhaps if the store fails. Resolves with the new value once it is stored. Rejects
   * with `resourceExhausted` if the state of the context would exceed 64 KiB (limit `contextStateMaxBytes`), with a
   * `TypeError` for a value that is not JSON, and with what `change` throws.
   */
  update(
    key: string,
    change: (old: JsonValue | undefined) => JsonValue | undefined | Promise<JsonValue | undefined>,
  ): Promise<JsonValue | undefined>;
}
