import { type Command, InvalidArgumentError, Option } from "commander";
import { checkForwardNames } from "../gateway/forward.js";
import type { GatewayOptions } from "../gateway/options.js";
import { stderrLogger } from "../server/log/stderr-logger.js";
import { type VersionName, versionTable } from "../version/versions.js";
import { addCallerOptions, type CallerFlags, callerOptions } from "./caller.js";
import { noteLongWait } from "./connect.js";
import { appendText, checkUsage } from "./option-values.js";
import { print } from "./print.js";
import {
  accessLogOption,
  allowedHostOption,
  assertShared,
  hostOption,
  logLevelOption,
  portOption,
  type ServingFlags,
} from "./serving.js";
import { agentUrl } from "./target.js";

/** Flags of `trivium gateway`. */
interface GatewayFlags extends CallerFlags, ServingFlags {
  readonly anonymous: boolean;
  readonly allowedHost: readonly string[];
  readonly forwardHeader: readonly string[];
  readonly protocolVersion?: readonly VersionName[];
  readonly publicUrl?: string;
}

const versionNames = versionTable.map(({ name }) => name);

/** `trivium gateway`. */
export function gatewayCommand(command: Command): void {
  command
    .argument("<url>", "base URL of the agent, or URL of its card")
    .addOption(portOption())
    .addOption(hostOption())
    .option("--anonymous", "share all tasks with every caller; required for a host beyond this machine", false)
    .addOption(allowedHostOption())
    .option("--public-url <url>", "base URL of the gateway as callers see it; default: derived from each request")
    .option(
      "--forward-header <name>",
      "header of callers that is passed on to the agent; may be repeated",
      appendText,
      [],
    )
    .addOption(
      new Option("--protocol-version <version>", "version to serve; may be repeated; default: all of them").argParser(
        addVersion,
      ),
    )
    .addOption(logLevelOption())
    .addOption(accessLogOption());
  addCallerOptions(command).action(run);
}

async function run(address: string, flags: GatewayFlags, command: Command): Promise<void> {
  const { host, port, anonymous, publicUrl, forwardHeader: forward, protocolVersion, timeout: timeoutMs } = flags;
  checkUsage(command, () => checkForwardNames(forward));
  const upstream = checkUsage(command, () => agentUrl(address));
  const caller = checkUsage(command, () => callerOptions(flags, upstream));
  const limits = timeoutMs === undefined ? {} : { cardTimeoutMs: timeoutMs };
  assertShared(host, anonymous);
  const noteWait = noteLongWait();
  let isStarted = false;
  const options: GatewayOptions = {
    upstream,
    // Once the gateway serves, its log has the failures of its calls.
    client: { ...caller, timeoutMs, limits, onRetry: (notice) => isStarted || noteWait(notice) },
    forward,
    port,
    host,
    publicUrl,
    anonymous: anonymous ? "shared" : undefined,
    allowedHosts: flags.allowedHost,
    versions: protocolVersion,
    logger: stderrLogger(flags.logLevel),
    accessLog: flags.accessLog,
    handleSignals: true,
  };
  // The server takes longer to load than the rest of the command.
  const { gateway } = await import("../gateway/gateway.js");
  const { url, upstream: agentInterface } = await gateway(options);
  isStarted = true;
  const { binding, version, url: agentAt } = agentInterface ?? {};
  await print(
    `gateway at ${url} for ${address}${binding === undefined ? "" : `, over ${binding} ${version} at ${agentAt}`}`,
  );
}

function addVersion(value: string, versions: readonly VersionName[] = []): readonly VersionName[] {
  const version = versionNames.find((name) => name === value);
  if (version !== undefined) return [...versions, version];
  throw new InvalidArgumentError(`The versions are ${versionNames.join(", ")}.`);
}
