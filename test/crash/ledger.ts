import type { SendOptions } from "../../src/client/send.js";
import type { Message, Task } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { createPulse, type Pulse } from "./pulse.js";

// What the driver was told, and so what must hold after any number of kills.

export const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
export type CrashBinding = (typeof bindings)[number];

/** What a stream has shown. */
export interface Seen {
  readonly binding: CrashBinding;
  readonly items: StreamItem[];
  /** Processes that have shown some of it. */
  readonly lives: Set<number>;
  /** The stream came to its end. */
  ended: boolean;
}

/** A push configuration that was answered. */
export interface Configured {
  /** The path that the webhook is called by. */
  readonly path: string;
  /** It came with the first message, so all of the task is owed. */
  readonly fromStart: boolean;
}

/** A task that the server has spoken of. */
export interface KnownTask {
  readonly id: string;
  readonly contextId: string;
  /** Messages that were answered for. */
  readonly messageIds: Set<string>;
  readonly seen: Seen[];
  readonly configured: Configured[];
  /** The task as an answer showed it at its end. */
  last: Task | undefined;
  canceled: boolean;
}

/** A send, with what it takes to repeat it. */
export interface Sent {
  readonly binding: CrashBinding;
  readonly text: string;
  readonly options: SendOptions & { readonly messageId: string };
  /** It starts a task, or is answered with a message. */
  readonly starts: boolean;
  readonly streams: boolean;
  answer: { readonly taskId: string } | { readonly reply: Message } | undefined;
}

interface Tally {
  kills: number;
  killsAtStart: number;
  /** Calls that got no answer although the client tried again. */
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
  /** What was found to be wrong. */
  readonly faults: string[];
  readonly tally: Tally;
  /** Beats with each answer and each event that is shown. */
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
      const known = tasks.get(id);
      if (known !== undefined) return known;
      const made: KnownTask = {
        id,
        contextId,
        messageIds: new Set(),
        seen: [],
        configured: [],
        last: undefined,
        canceled: false,
      };
      tasks.set(id, made);
      return made;
    },
  };
}
