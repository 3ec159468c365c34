import type { Clock, Hint, Signals } from "../../core/ports.js";
import { noop } from "../../protocol/async/noop.js";
import { pause, within } from "../../protocol/async/pause.js";
import { backoffMs } from "../../protocol/async/retry.js";
import { type Logger, silentLogger } from "../../protocol/logger.js";
import { createConnector, keepAlive, loadPg, type PoolerMode, type StoreClient, statementName } from "./connection.js";
import type { ConnectOptions } from "./settings.js";

// How a process learns of another's write: hints between the processes on one database, over LISTEN and NOTIFY.
//
// - `postgresSignals` calls the listeners of its own process at once. For the other processes it collects hints, and sends
//   them as one text for each turn of the event loop, at most every 10 ms.
// - `Listener` is the one connection for both directions. It is idle until somebody subscribes or publishes, then
//   connecting, connected, or waiting for its next attempt. It is closed for good by `close()`, and by a pooler in
//   transaction mode, which passes on no notifications.
// - `Presence` knows whether another process may be listening. Most deployments have one process, which sends nothing.
//
// A hint may be lost anywhere: with the connection, in a full queue, before another process has been noticed. That costs its
// receiver a poll of the store. No caller waits for a hint, and none sees a fault of the connection.

/** Hints between the processes on one database. */
export interface PostgresSignals extends Signals {
  close(): Promise<void>;
}

export interface PostgresSignalsOptions extends Omit<ConnectOptions, "max"> {
  readonly clock: Clock;
  /** The mode of the pooler in front of the database. */
  readonly mode: PoolerMode;
  /** Receives errors of listeners. Default: none. */
  readonly logger?: Logger | undefined;
}

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
  const listeners = new Map<symbol, (hint: Hint) => void>();
  const listener = new Listener(options, {
    onConnect: () => presence.announce(),
    onUnavailable: () => presence.close(),
    onNotification(text, channel) {
      if (channel === "presence") presence.receive(text);
      else hintsFromText(text).forEach(notifyLocal);
    },
  });
  const presence = new Presence(clock, (word) => void listener.notify("presence", [word]));
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
      return keepAlive(() => listener.close());
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

/** The channels: hints, and the presence of listeners. */
const channels = { hints: "trivium", presence: "trivium_presence" } as const;
type Channel = keyof typeof channels;

interface ListenerEvents {
  /** A notification from another process has arrived. */
  onNotification(text: string, channel: Channel): void;
  /** Notifications are received from now on. */
  onConnect(): void;
  /** Notifications are impossible for good. */
  onUnavailable(): void;
}

const notifyText = "select pg_notify($1, text) from unnest($2::text[]) as text";
const farewellMs = 1_000;
const waits = { firstMs: 100, maxMs: 10_000 };

/**
 * A connection that exchanges notifications with other processes. It reconnects when it is lost; notifications
 * meanwhile are lost. It does not keep the process alive.
 */
class Listener {
  readonly #options: PostgresSignalsOptions;
  readonly #events: ListenerEvents;
  #client: StoreClient | undefined;
  #connecting: Promise<void> | undefined;
  #cancelRetry: (() => void) | undefined;
  #failures = 0;
  #closed = false;
  /** The last text that `#client` sends: a connection takes one query at a time. */
  #sending = Promise.resolve();

  constructor(options: PostgresSignalsOptions, events: ListenerEvents) {
    this.#options = options;
    this.#events = events;
  }

  start(): void {
    if (this.#closed || this.#client !== undefined || this.#connecting !== undefined) return;
    if (this.#cancelRetry !== undefined) return;
    this.#connecting = this.#reconnect().finally(() => {
      this.#connecting = undefined;
    });
  }

  /** Resolves when the texts are sent or lost. Each has at most 7,999 bytes. */
  async notify(channel: Channel, texts: readonly string[]): Promise<void> {
    this.start();
    await this.#connecting;
    const sender = this.#client;
    if (sender === undefined) return;
    const name = this.#options.prepare === false ? undefined : statementName(notifyText);
    const query = { name, text: notifyText, values: [channels[channel], texts] };
    this.#sending = this.#sending.then(() => sender.query(query)).then(noop, () => this.#lose(sender));
    await this.#sending;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry?.();
    await this.#connecting;
    const last = this.#client;
    this.#client = undefined;
    if (last !== undefined) await this.#end(last);
  }

  async #reconnect(): Promise<void> {
    try {
      const client = await this.#connect();
      if (this.#closed) return await this.#end(client);
      if (client.session.mode === "transaction") {
        this.#closed = true;
        this.#events.onUnavailable();
        return await this.#end(client);
      }
      this.#client = client;
      this.#sending = Promise.resolve();
      this.#failures = 0;
      this.#events.onConnect();
    } catch {
      this.#retry();
    }
  }

  async #connect(): Promise<StoreClient> {
    const driver = await loadPg();
    const client = await createConnector(driver, { ...this.#options, max: 1 }, this.#options.mode).connect();
    const { session } = client;
    if (session.mode === "transaction") return client;
    // Any fault of a connection ends it.
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", ({ channel, processId, payload }) => {
      // A connection also receives its own notifications.
      if (processId === session.processId || payload === undefined) return;
      this.#events.onNotification(payload, channel === channels.presence ? "presence" : "hints");
    });
    try {
      if ("unref" in client && typeof client.unref === "function") client.unref();
      for (const channel of Object.values(channels)) await client.query(`listen ${channel}`);
      return client;
    } catch (error) {
      client.end().catch(noop);
      throw error;
    }
  }

  #lose(client: StoreClient): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(noop);
    this.#retry();
  }

  #retry(): void {
    if (this.#closed) return;
    this.#failures += 1;
    this.#cancelRetry = this.#options.clock.after(backoffMs(this.#failures, waits), () => {
      this.#cancelRetry = undefined;
      this.start();
    });
  }

  /** Closes a connection; a server that does not answer is abandoned. */
  #end(client: StoreClient): Promise<void> {
    return within(this.#options.clock, farewellMs, client.end().catch(noop));
  }
}

const periodMs = 5_000;
/** After this many silent periods no other process is present. */
const silentPeriods = 3;

/**
 * Whether another process may be listening: true until the opposite is known. Each process announces itself now and then,
 * and answers newcomers. A process that the others have not noticed yet finds changes by polling the store.
 */
export class Presence {
  readonly #clock: Clock;
  readonly #send: (word: string) => void;
  // Present processes answer at once.
  #silence = silentPeriods - 1;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(clock: Clock, send: (word: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  get others(): boolean {
    return !this.#closed && this.#silence < silentPeriods;
  }

  /** Must be called when the connection is ready: asks who is present. */
  announce(): void {
    this.#send("who");
    this.#cancel?.();
    // Others may have been present while this one was disconnected: they have one period to answer.
    this.#silence = Math.min(this.#silence, silentPeriods - 1);
    this.#nextPeriod();
  }

  /** A word from another process arrived. */
  receive(word: string): void {
    this.#silence = 0;
    if (word === "who") this.#send("here");
  }

  /** Marks everyone as absent from now on. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #nextPeriod(): void {
    if (this.#closed) return;
    this.#cancel = this.#clock.after(periodMs, () => {
      this.#silence += 1;
      this.#send("here");
      this.#nextPeriod();
    });
  }
}
