import { type Command, Option } from "commander";
import { isLoopback } from "../protocol/loopback.js";
import type { MultiAgentServer } from "../server/multi-agent.js";
import type { ServeOptions } from "../server/options.js";
import type { AgentServer } from "../server/serve.js";
import { checkUsage } from "./option-values.js";
import { print } from "./print.js";
import { readAgentModule, readConfiguration, readPackageCard, type ServeSettings } from "./serve/agent-module.js";
import { runWatched } from "./serve/watch.js";
import { endWithWatcher, isWatched, watchedDrainMs, watchedStore } from "./serve/watched.js";
import {
  accessLogOption,
  allowedHostOption,
  endOnSignals,
  hostOption,
  logLevelOption,
  portOption,
  type ServingFlags,
} from "./serving.js";
import { openStorage, storeLocation } from "./store-location.js";

/** Flags of `trivium serve`. */
interface ServeFlags extends ServingFlags {
  readonly config?: string;
  readonly store?: string;
  readonly publicUrl?: string;
  readonly anonymous: boolean;
  readonly allowedHost: readonly string[];
  readonly watch: boolean;
}

/** `trivium serve`. */
export function serveCommand(command: Command): void {
  command
    .argument("<file>", "module, such as agent.ts, with an agent or the options of serve() as its default export")
    .addOption(
      new Option("--config <file>", "module with further options; default: trivium.config.ts, if there is one"),
    )
    .addOption(portOption())
    .addOption(hostOption().env("TRIVIUM_HOST"))
    .addOption(
      new Option("--store <place>", "where tasks are stored: memory, a file (SQLite), or postgres://…").env(
        "TRIVIUM_STORE",
      ),
    )
    .addOption(new Option("--public-url <url>", "base URL of the agent as callers see it").env("TRIVIUM_PUBLIC_URL"))
    .option("--anonymous", "share all tasks with every caller; a host beyond this machine needs it or auth", false)
    .addOption(allowedHostOption())
    .addOption(logLevelOption())
    .addOption(accessLogOption())
    .option("--watch", "restart when a file changes; broken streams resume", false)
    .action(run);
}

async function run(file: string, flags: ServeFlags, command: Command): Promise<void> {
  if (flags.watch) return await runWatched(command);
  const watched = isWatched() ? endWithWatcher() : undefined;
  const moduleSettings = await readAgentModule(file);
  const settings: ServeSettings = {
    ...moduleSettings,
    ...(await readConfiguration(flags.config)),
    ...settingsFromFlags(flags, command),
  };
  const place = flags.store ?? (watched !== undefined && settings.store === undefined ? watchedStore : undefined);
  const location = place === undefined ? undefined : checkUsage(command, () => storeLocation(place));
  const { stderrLogger } = await import("../server/log/stderr-logger.js");
  const logger = settings.logger === false ? stderrLogger("silent") : (settings.logger ?? stderrLogger(flags.logLevel));
  const store = location === undefined ? settings.store : await openStorage(location, logger);
  const { serve } = await import("../server/serve.js");
  try {
    const drainMs = settings.drainMs ?? (watched && watchedDrainMs);
    const isLocal = isLoopback(settings.host ?? "127.0.0.1", "listen");
    const card = "agents" in settings ? {} : { card: settings.card ?? readPackageCard(file, isLocal) };
    // serve() checks these options.
    const options = { ...settings, ...card, store, logger, drainMs, handleSignals: false } as ServeOptions;
    const server: AgentServer | MultiAgentServer = await serve(options);
    const closingMs = await closingTime(options);
    endOnSignals(server, store, logger, watched && (() => watched.reportClosing(closingMs)));
    const agents = hasNamedAgents(server) ? [...server.agents] : [server];
    for (const { card, url } of agents) await print(`${card.name} listens at ${url}`);
  } catch (error) {
    await store?.close();
    throw error;
  }
}

/** How long a watched server may take to close before it is killed, in milliseconds. */
async function closingTime({ lameDuckMs = 0, drainMs = watchedDrainMs, limits }: ServeOptions): Promise<number> {
  const { defaultLimits } = await import("../server/limits.js");
  // The same time as the deployment guide gives supervisors.
  return lameDuckMs + drainMs + (limits?.graceMs ?? defaultLimits.graceMs) + 5_000;
}

function hasNamedAgents(server: AgentServer | MultiAgentServer): server is MultiAgentServer {
  return "agents" in server;
}

/** The options from arguments and the environment, without defaults of flags. */
function settingsFromFlags(flags: ServeFlags, command: Command): ServeSettings {
  const isGiven = (name: keyof ServeFlags): boolean => {
    const source = command.getOptionValueSource(name);
    return source === "cli" || source === "env";
  };
  return {
    ...(isGiven("port") ? { port: flags.port } : {}),
    ...(isGiven("host") ? { host: flags.host } : {}),
    ...(isGiven("publicUrl") ? { publicUrl: flags.publicUrl } : {}),
    ...(isGiven("anonymous") ? { anonymous: "shared" as const } : {}),
    ...(isGiven("allowedHost") ? { allowedHosts: flags.allowedHost } : {}),
    ...(isGiven("accessLog") ? { accessLog: flags.accessLog } : {}),
  };
}
