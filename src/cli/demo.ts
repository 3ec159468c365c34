import { type Command, Option } from "commander";
import { stderrLogger } from "../server/log/stderr-logger.js";
import type { Server } from "../server/serve.js";
import { checkUsage } from "./option-values.js";
import { packageVersion } from "./package-version.js";
import {
  accessLogOption,
  allowedHostOption,
  assertShared,
  endOnSignals,
  hostOption,
  logLevelOption,
  portOption,
  type ServingFlags,
} from "./serving.js";
import { locationText, openStorage, type StoreLocation, storeLocation } from "./store-location.js";

/** Flags of `trivium demo`. */
interface DemoFlags extends ServingFlags {
  readonly anonymous: boolean;
  readonly allowedHost: readonly string[];
  readonly store: string;
}

/** Relative to the folder where the command starts. */
const defaultStore = ".trivium/tasks.db";

/** `trivium demo`. */
export function demoCommand(command: Command): void {
  command
    .addOption(portOption())
    .addOption(hostOption())
    .option("--anonymous", "share all tasks with every caller; required for a host beyond this machine", false)
    .addOption(allowedHostOption())
    .addOption(
      new Option("--store <place>", "where tasks are stored: memory, a file (SQLite), or postgres://…")
        .env("TRIVIUM_STORE")
        .default(defaultStore),
    )
    .addOption(logLevelOption())
    .addOption(accessLogOption())
    .action(run);
}

async function run(flags: DemoFlags, command: Command): Promise<void> {
  const location = checkUsage(command, () => storeLocation(flags.store));
  assertShared(flags.host, flags.anonymous);
  const logger = stderrLogger(flags.logLevel);
  const store = await openStorage(location, logger);
  // The demo is an example, not part of the library. Only this command loads it.
  const { greeting, serveDemo } = await import("../../examples/demo/server.js");
  const { port, host, anonymous, allowedHost: allowedHosts, accessLog } = flags;
  let server: Server;
  try {
    server = await serveDemo({
      version: packageVersion(),
      anonymous: anonymous ? "shared" : undefined,
      port,
      host,
      allowedHosts,
      logger,
      accessLog,
      store,
    });
  } catch (error) {
    await store?.close();
    if (!isPortTaken(error)) throw error;
    throw new Error(`port ${port} on ${host} is in use: choose another one with --port`);
  }
  endOnSignals(server, store, logger);
  process.stdout.write(greeting(server, storageText(location)));
}

function storageText(location: StoreLocation): string {
  if (location.kind === "memory") return "Tasks are kept in memory and end with this process.";
  return `Tasks are kept in ${locationText(location)} and persist across restarts.`;
}

function isPortTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
}
