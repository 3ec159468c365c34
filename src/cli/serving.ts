import { InvalidArgumentError, Option } from "commander";
import { type LogLevel, levelVariable, logLevels } from "../server/log/stderr-logger.js";

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
  return new Option("--access-log", "log every call when it has ended, at the level info").default(false);
}

/** Throws when other machines can reach `host`, unless `--anonymous` lets all callers share all tasks. */
export async function assertShared(host: string, isShared: boolean): Promise<void> {
  const { isLoopback } = await import("../server/caller-guard.js");
  if (isShared || isLoopback(host)) return;
  throw new Error(`other machines can reach host ${host}: say --anonymous to let all callers share all tasks`);
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}
