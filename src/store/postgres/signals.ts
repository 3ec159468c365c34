import type { Hint, Signals } from "../../core/ports.js";
import { pause } from "../../protocol/async/pause.js";
import { type Logger, silentLogger } from "../../protocol/logger.js";
import { keepAlive } from "../sql/keep-process-alive.js";
import { createListener, type ListenerOptions } from "./listener.js";
import { createPresence } from "./presence.js";

/** Hints between the processes on one database. */
export interface PostgresSignals extends Signals {
  close(): Promise<void>;
}

export interface PostgresSignalsOptions
  extends Omit<ListenerOptions, "onNotification" | "onConnect" | "onUnavailable"> {
  /** Receives errors of listeners. Default: none. */
  readonly logger?: Logger | undefined;
}

type Listen = (hint: Hint) => void;

// The server accepts 7,999 bytes.
const maxTextBytes = 7_900;
/** Hints that wait to be sent; more are dropped, which costs their receivers a poll. */
const maxWaiting = 10_000;
/**
 * Every process receives every notification: under load they are sent at this interval, each with all hints in between.
 */
const pauseMs = 10;

/**
 * Creates signals over LISTEN and NOTIFY. Listeners in this process are called at once. Other processes, if any, get
 * one text with everything published in one turn of the event loop, or since the previous text.
 */
export function postgresSignals(options: PostgresSignalsOptions): PostgresSignals {
  const { clock, logger = silentLogger } = options;
  const listeners = new Map<symbol, Listen>();
  const listener = createListener({
    ...options,
    onConnect: () => presence.announce(),
    onUnavailable: () => presence.close(),
    onNotification(text, channel) {
      if (channel === "presence") presence.receive(text);
      else hintsFromText(text).forEach(notifyLocal);
    },
  });
  const presence = createPresence({ clock, send: (word) => void listener.notify("presence", [word]) });
  let queue = new Set<string>();
  let isSending = false;

  function notifyLocal(hint: Hint): void {
    for (const [id, listen] of [...listeners]) {
      if (!listeners.has(id)) continue;
      try {
        listen(hint);
      } catch (error) {
        logger.error({ err: error, hint }, "a listener of hints threw");
      }
    }
  }

  async function notifyOthers(): Promise<void> {
    while (queue.size > 0) {
      const hints = queue;
      queue = new Set();
      await listener.notify("hints", joinWords(hints));
      await pause(clock, pauseMs);
    }
    isSending = false;
  }

  return {
    publish(hint) {
      notifyLocal(hint);
      if (!presence.others) return;
      if (queue.size < maxWaiting) queue.add(encodeHint(hint));
      if (isSending) return;
      isSending = true;
      setImmediate(notifyOthers);
    },
    subscribe(listen) {
      listener.start();
      const id = Symbol();
      listeners.set(id, listen);
      return () => {
        listeners.delete(id);
      };
    },
    close() {
      presence.close();
      return keepAlive(listener.close);
    },
  };
}

/** A hint as text: its kind and its task id, quoted, so that no id looks like the end of a hint. */
function encodeHint({ kind, taskId }: Hint): string {
  return JSON.stringify(kind === "moved" ? `m${taskId}` : `i${taskId}`);
}

/** Joins words into as few texts as possible. A word too long for a text is dropped. */
function joinWords(words: Iterable<string>): string[] {
  const texts: string[] = [];
  let text = "";
  let bytes = 0;
  for (const word of words) {
    const size = Buffer.byteLength(word) + 1;
    if (size > maxTextBytes) continue;
    if (bytes + size > maxTextBytes) {
      texts.push(text);
      text = "";
      bytes = 0;
    }
    text += text === "" ? word : `,${word}`;
    bytes += size;
  }
  if (text !== "") texts.push(text);
  return texts;
}

/** Texts of other releases, or of other users of the channel, are ignored. */
function hintsFromText(text: string): Hint[] {
  let words: unknown;
  try {
    words = JSON.parse(`[${text}]`);
  } catch {
    return [];
  }
  if (!Array.isArray(words)) return [];
  return words.flatMap((word: unknown): Hint[] => {
    if (typeof word !== "string") return [];
    const taskId = word.slice(1);
    if (word.startsWith("m")) return [{ kind: "moved", taskId }];
    return word.startsWith("i") ? [{ kind: "inbox", taskId }] : [];
  });
}
