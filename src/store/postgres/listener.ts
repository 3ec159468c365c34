import type pg from "pg";
import type { Clock } from "../../core/ports.js";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { grownPause } from "../../protocol/async/retry.js";
import { clientConfig, loadPg } from "./pool.js";
import type { ConnectOptions } from "./settings.js";

/** The channels: hints, and the presence of listeners. */
const channels = { hints: "trivium", presence: "trivium_presence" } as const;
type Channel = keyof typeof channels;

export interface ListenerOptions extends Omit<ConnectOptions, "max"> {
  readonly clock: Clock;
  /** Called with a notification from another process. */
  heard(text: string, channel: Channel): void;
  /** Called when notifications are received from now on. */
  connected(): void;
}

/**
 * A connection that exchanges notifications with other processes. It reconnects when it is lost; notifications
 * meanwhile are lost. It does not keep the process alive.
 */
export interface Listener {
  start(): void;
  /** Resolves when the texts are sent or lost. Each has at most 7,999 bytes. */
  tell(channel: Channel, texts: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const tellText = "select pg_notify($1, text) from unnest($2::text[]) as text";
const farewellMs = 1_000;
const waits = { firstMs: 100, maxMs: 10_000 };

export function createListener(options: ListenerOptions): Listener {
  const { clock } = options;
  let client: pg.Client | undefined;
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
      const made = await connect(options, lost);
      if (closed) return await end(made, clock);
      client = made;
      sending = Promise.resolve();
      failures = 0;
      options.connected();
    } catch {
      retry();
    }
  }

  function lost(gone: pg.Client): void {
    if (client !== gone) return;
    client = undefined;
    gone.end().catch(noop);
    retry();
  }

  function retry(): void {
    if (closed) return;
    failures += 1;
    cancelRetry = clock.after(grownPause(failures, waits), () => {
      cancelRetry = undefined;
      start();
    });
  }

  return {
    start,
    async tell(channel, texts) {
      start();
      await connecting;
      const teller = client;
      if (teller === undefined) return;
      const query = { name: "trivium_tell", text: tellText, values: [channels[channel], texts] };
      sending = sending.then(() => teller.query(query)).then(noop, () => lost(teller));
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

async function connect(options: ListenerOptions, lost: (client: pg.Client) => void): Promise<pg.Client> {
  const driver = await loadPg();
  const client = new driver.Client(clientConfig(driver, { ...options, max: 1 }));
  // Any fault of a connection ends it.
  client.on("error", () => lost(client));
  client.on("end", () => lost(client));
  client.on("notification", ({ channel, processId, payload }) => {
    // A connection also receives its own notifications.
    if (processId === processOf(client) || payload === undefined) return;
    options.heard(payload, channel === channels.presence ? "presence" : "hints");
  });
  try {
    await client.connect();
    if ("unref" in client && typeof client.unref === "function") client.unref();
    for (const channel of Object.values(channels)) await client.query(`listen ${channel}`);
    return client;
  } catch (error) {
    client.end().catch(noop);
    throw error;
  }
}

/** The server process that serves a connection. */
function processOf(client: pg.Client): unknown {
  return "processID" in client ? client.processID : undefined;
}

/** Closes a connection; a server that does not answer is abandoned. */
function end(client: pg.Client, clock: Clock): Promise<void> {
  return within(clock, farewellMs, client.end().catch(noop));
}
