import { InvalidArgumentError, Option } from "commander";
import { addressPolicy } from "../binding/fetch/address-policy.js";
import type { Store } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import type { Logger } from "../protocol/logger.js";
import { isLoopback } from "../protocol/loopback.js";
import { closeOnSignals } from "../server/end-signals.js";
import { type LogLevel, levelVariable, logLevels } from "../server/log/stderr-logger.js";
import type { Server } from "../server/serve.js";
import { parsePort } from "./option-values.js";

// `serve`, `demo` and `gateway`: the options that they share, and how their servers end.

/** Options shared by the commands that serve. */
export interface ServingFlags {
  readonly port: number;
  readonly host: string;
  readonly logLevel: LogLevel;
  readonly accessLog: boolean;
}

const defaultPort = 41241;

export function portOption(): Option {
  const option = new Option("--port <number>", "port to listen on; 0 takes a free one");
  return option.env("PORT").default(defaultPort).argParser(parsePort);
}

export function hostOption(): Option {
  return new Option("--host <address>", "address to listen on").default("127.0.0.1");
}

export function logLevelOption(): Option {
  const level: LogLevel = "info";
  return new Option("--log-level <level>", "least severe level to log")
    .env(levelVariable)
    .default(level)
    .choices(logLevels);
}

export function accessLogOption(): Option {
  return new Option("--access-log", "log each call at its end, at the level info").default(false);
}

/** Throws when other machines can reach `host`, unless `--anonymous` lets all callers share all tasks. */
export function assertShared(host: string, isShared: boolean): void {
  if (isShared || isLoopback(host, "listen")) return;
  throw new Error(`other machines can reach host ${host}: pass --anonymous to let all callers share all tasks`);
}

/** The option `--allowed-host` of the commands that serve. */
export function allowedHostOption(): Option {
  const description = "further host that requests may name on a loopback address; may be repeated";
  return new Option("--allowed-host <name>", description).default([], "none").argParser(addHost);
}

function addHost(host: string, hosts: readonly string[]): readonly string[] {
  try {
    addressPolicy([host], "--allowed-host");
  } catch {
    throw new InvalidArgumentError('It takes a host name without a port, such as "agents.example" or "*.example".');
  }
  return [...hosts, host];
}

/**
 * Closes the server and then its store at a signal, and ends the process. A second signal ends it at once. With `onClosing`,
 * which tells a watching process, a second signal has no effect: a terminal signals both, and the watching process kills
 * this one.
 */
export function endOnSignals(server: Server, store: Store | undefined, logger: Logger, onClosing?: () => void): void {
  const close = async (): Promise<void> => {
    onClosing?.();
    await server.close();
    await store?.close();
  };
  closeOnSignals(close, logger, onClosing && noop);
}
