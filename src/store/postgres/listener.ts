import type { Clock } from "../../core/ports.js";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { backoffMs } from "../../protocol/async/retry.js";
import { createConnector, loadPg, type PoolerMode, type StoreClient, statementName } from "./connection.js";
import type { ConnectOptions } from "./settings.js";

/** The channels: hints, and the presence of listeners. */
const channels = { hints: "trivium", presence: "trivium_presence" } as const;
type Channel = keyof typeof channels;

export interface ListenerOptions extends Omit<ConnectOptions, "max"> {
  readonly clock: Clock;
  /** The mode of the pooler in front of the database. */
  readonly mode: PoolerMode;
  /** Called with a notification from another process. */
  onNotification(text: string, channel: Channel): void;
  /** Called when notifications are received from now on. */
  onConnect(): void;
  /** Called when notifications are impossible for good. */
  onUnavailable(): void;
}

/**
 * A connection that exchanges notifications with other processes. It reconnects when it is lost; notifications
 * meanwhile are lost. Behind a pooler in transaction mode there are no notifications: it stops. It does not keep
 * the process alive.
 */
export interface Listener {
  start(): void;
  /** Resolves when the texts are sent or lost. Each has at most 7,999 bytes. */
  notify(channel: Channel, texts: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const notifyText = "select pg_notify($1, text) from unnest($2::text[]) as text";
const farewellMs = 1_000;
const waits = { firstMs: 100, maxMs: 10_000 };

export function createListener(options: ListenerOptions): Listener {
  const { clock } = options;
  let client: StoreClient | undefined;
  let connecting: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let failures = 0;
  let closed = false;
  /** The last text that `client` sends: a connection takes one query at a time. */
  let sending = Promise.resolve();

  function start(): void {
    if (closed || client !== undefined || connecting !== undefined || cancelRetry !== undefined) return;
    connecting = reconnect().finally(() => {
      connecting = undefined;
    });
  }

  async function reconnect(): Promise<void> {
    try {
      const connection = await connect(options, onLost);
      if (closed) return await end(connection, clock);
      if (connection.session.mode === "transaction") {
        closed = true;
        options.onUnavailable();
        return await end(connection, clock);
      }
      client = connection;
      sending = Promise.resolve();
      failures = 0;
      options.onConnect();
    } catch {
      retry();
    }
  }

  function onLost(lostClient: StoreClient): void {
    if (client !== lostClient) return;
    client = undefined;
    lostClient.end().catch(noop);
    retry();
  }

  function retry(): void {
    if (closed) return;
    failures += 1;
    cancelRetry = clock.after(backoffMs(failures, waits), () => {
      cancelRetry = undefined;
      start();
    });
  }

  return {
    start,
    async notify(channel, texts) {
      start();
      await connecting;
      const sender = client;
      if (sender === undefined) return;
      const name = options.prepare === false ? undefined : statementName(notifyText);
      const query = { name, text: notifyText, values: [channels[channel], texts] };
      sending = sending.then(() => sender.query(query)).then(noop, () => onLost(sender));
      await sending;
    },
    async close() {
      closed = true;
      cancelRetry?.();
      await connecting;
      const last = client;
      client = undefined;
      if (last !== undefined) await end(last, clock);
    },
  };
}

async function connect(options: ListenerOptions, onLost: (client: StoreClient) => void): Promise<StoreClient> {
  const driver = await loadPg();
  const client = await createConnector(driver, { ...options, max: 1 }, options.mode).connect();
  const { session } = client;
  if (session.mode === "transaction") return client;
  // Any fault of a connection ends it.
  client.on("error", () => onLost(client));
  client.on("end", () => onLost(client));
  client.on("notification", ({ channel, processId, payload }) => {
    // A connection also receives its own notifications.
    if (processId === session.processId || payload === undefined) return;
    options.onNotification(payload, channel === channels.presence ? "presence" : "hints");
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

/** Closes a connection; a server that does not answer is abandoned. */
function end(client: StoreClient, clock: Clock): Promise<void> {
  return within(clock, farewellMs, client.end().catch(noop));
}
