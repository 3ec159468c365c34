import { type Command, InvalidArgumentError, Option } from "commander";
import { allowedHostOption } from "./allowed-host.js";
import { understood } from "./caller.js";
import { type StorePlace, storePlace } from "./store-place.js";

/** What `trivium demo` was asked for. */
export interface DemoFlags {
  readonly port: number;
  readonly host: string;
  readonly anonymous: boolean;
  readonly allowedHost: readonly string[];
  readonly store: string;
  readonly logLevel: (typeof logLevels)[number];
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const defaultPort = 41241;
/** Below the folder in which the command is started. */
const defaultStore = ".trivium/tasks.db";

/** Adds `trivium demo`. The server is loaded only when it is wanted. */
export function addDemo(program: Command): void {
  program
    .command("demo")
    .description("serve the text analyst, an agent to try things on, until SIGINT or SIGTERM")
    .addOption(
      new Option("--port <number>", "0 takes a free one").env("PORT").default(defaultPort).argParser(parsePort),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--anonymous", "let whoever reaches the host share all tasks; needed for a host beyond this machine", false)
    .addOption(allowedHostOption())
    .addOption(
      new Option("--store <place>", "where tasks are kept: memory, a file (SQLite), or postgres://…")
        .env("TRIVIUM_STORE")
        .default(defaultStore),
    )
    .addOption(new Option("--log-level <level>").env("LOG_LEVEL").default("info").choices(logLevels))
    .action(async (flags: DemoFlags, command: Command) => {
      const place: StorePlace = understood(command, () => storePlace(flags.store));
      const { start } = await import("./demo/start.js");
      await start(flags, place);
    });
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}
