import { type Command, InvalidArgumentError, Option } from "commander";
import { forwardedNames } from "../gateway/forward.js";
import type { GatewayOptions } from "../gateway/options.js";
import { type VersionName, versionTable } from "../version/versions.js";
import { allowedHostOption } from "./allowed-host.js";
import { addCallerOptions, type CallerFlags, credentialsOf, understood } from "./caller.js";
import { print } from "./print.js";
import { agentUrl } from "./target.js";

/** What `trivium gateway` was asked for. */
interface GatewayFlags extends CallerFlags {
  readonly port: number;
  readonly host: string;
  readonly anonymousShared: boolean;
  readonly allowedHost: readonly string[];
  readonly forwardHeader: readonly string[];
  readonly protocolVersion?: readonly VersionName[];
  readonly publicUrl?: string;
  readonly logLevel: (typeof logLevels)[number];
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const defaultPort = 41241;
const versionNames = versionTable.map(({ name }) => name);

/** Adds `trivium gateway`. */
export function addGateway(program: Command): void {
  const command = program
    .command("gateway")
    .description(
      "serve an agent that runs somewhere else over every binding and in every version, until SIGINT or SIGTERM",
    )
    .argument("<url>", "base URL of the agent, or URL of its card")
    .addOption(
      new Option("--port <number>", "0 takes a free one").env("PORT").default(defaultPort).argParser(parsePort),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--anonymous-shared",
      "let whoever reaches the host share all tasks; needed for a host beyond this machine",
      false,
    )
    .addOption(allowedHostOption())
    .option("--public-url <url>", "where the gateway lies from outside; default: what each request says")
    .option("--forward-header <name>", "header of callers that is passed on to the agent; may be repeated", add, [])
    .addOption(
      new Option("--protocol-version <version>", "version to serve; may be repeated; default: all of them").argParser(
        addVersion,
      ),
    )
    .addOption(new Option("--log-level <level>").env("LOG_LEVEL").default("warn").choices(logLevels));
  addCallerOptions(command).action(run);
}

async function run(address: string, flags: GatewayFlags, command: Command): Promise<void> {
  const { host, port, anonymousShared, publicUrl, forwardHeader: forward, protocolVersion, timeout: timeoutMs } = flags;
  understood(command, () => forwardedNames(forward));
  const upstream = understood(command, () => agentUrl(address));
  const credentials = understood(command, () => credentialsOf(flags));
  const limits = timeoutMs === undefined ? {} : { cardTimeoutMs: timeoutMs };
  await assertOpen(host, anonymousShared);
  const { pino } = await import("pino");
  const logger = pino(
    { level: flags.logLevel, base: null, serializers: { error: pino.stdSerializers.err } },
    pino.destination({ dest: 2, sync: true }),
  );
  const options: GatewayOptions = {
    upstream,
    client: { headers: flags.header, credentials, timeoutMs, limits },
    forward,
    port,
    host,
    publicUrl,
    anonymous: anonymousShared ? "shared" : undefined,
    allowedHosts: flags.allowedHost,
    versions: protocolVersion,
    logger,
    handleSignals: true,
  };
  // The server takes longer to load than the rest of the command.
  const { gateway } = await import("../gateway/gateway.js");
  const { url, upstream: reached } = await gateway(options);
  const how = reached && `, which is spoken to over ${reached.binding} ${reached.version} at ${reached.url}`;
  await print(`gateway at ${url} for ${address}${how ?? ""}`);
}

async function assertOpen(host: string, isShared: boolean): Promise<void> {
  const { isLoopback } = await import("../server/serve.js");
  if (isShared || isLoopback(host)) return;
  throw new Error(`other machines can reach host ${host}: say --anonymous-shared to let all callers share all tasks`);
}

function add(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function addVersion(value: string, before: readonly VersionName[] = []): readonly VersionName[] {
  const version = versionNames.find((name) => name === value);
  if (version !== undefined) return [...before, version];
  throw new InvalidArgumentError(`The versions are ${versionNames.join(", ")}.`);
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}
