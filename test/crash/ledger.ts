import type { SendOptions } from "../../src/client/send-options.js";
import type { Message, Task } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { createPulse, type Pulse } from "./pulse.js";

// What callers were told, which must hold after any number of kills.

export const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
export type CrashBinding = (typeof bindings)[number];

/** What a stream has shown. */
export interface Seen {
  readonly binding: CrashBinding;
  readonly items: StreamItem[];
  /** The processes that sent parts of it. */
  readonly lives: Set<number>;
  /** Whether the stream ended regularly. */
  ended: boolean;
}

/** A push configuration whose creation was acknowledged. */
export interface Configured {
  /** The path of its webhook. */
  readonly path: string;
  /** Whether it came with the first message, so that the webhook must get the whole task. */
  readonly fromStart: boolean;
}

/** A task that the server has told a caller about. */
export interface KnownTask {
  readonly id: string;
  readonly contextId: string;
  /** The ids of acknowledged messages. */
  readonly messageIds: Set<string>;
  readonly seen: Seen[];
  readonly configured: Configured[];
  /** The task as last answered, after its end. */
  last: Task | undefined;
  canceled: boolean;
}

/** A send with everything needed to repeat it. */
export interface Sent {
  readonly binding: CrashBinding;
  readonly text: string;
  readonly options: SendOptions & { readonly messageId: string };
  /** Whether it starts a task or is answered by a message. */
  readonly starts: boolean;
  readonly streams: boolean;
  answer: { readonly taskId: string } | { readonly reply: Message } | undefined;
}

interface Tally {
  kills: number;
  killsAtStart: number;
  /** The number of calls without an answer despite retries. */
  unanswered: number;
  resumed: number;
  replayed: number;
  takenOver: number;
  runAgain: number;
  canceled: number;
  followUps: number;
  replies: number;
  repeats: number;
  notifications: number;
  tasks: number;
}

export interface Ledger {
  readonly tasks: Map<string, KnownTask>;
  readonly sent: Sent[];
  /** The faults found. */
  readonly faults: string[];
  readonly tally: Tally;
  /** Beats with every answer and every event. */
  readonly pulse: Pulse;
  task(task: Pick<Task, "id" | "contextId">): KnownTask;
}

export function createLedger(): Ledger {
  const tasks = new Map<string, KnownTask>();
  return {
    tasks,
    sent: [],
    faults: [],
    pulse: createPulse(),
    tally: {
      kills: 0,
      killsAtStart: 0,
      unanswered: 0,
      resumed: 0,
      replayed: 0,
      takenOver: 0,
      runAgain: 0,
      canceled: 0,
      followUps: 0,
      replies: 0,
      repeats: 0,
      notifications: 0,
      tasks: 0,
    },
    task({ id, contextId }) {
      const knownTask = tasks.get(id);
      if (knownTask !== undefined) return knownTask;
      const task: KnownTask = {
        id,
        contextId,
        messageIds: new Set(),
        seen: [],
        configured: [],
        last: undefined,
        canceled: false,
      };
      tasks.set(id, task);
      return task;
    },
  };
}
