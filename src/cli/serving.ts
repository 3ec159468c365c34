import { Option } from "commander";
import { type LogLevel, levelVariable, logLevels } from "../server/log/stderr-logger.js";
import { parsePort } from "./option-values.js";

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
export async function assertShared(host: string, isShared: boolean): Promise<void> {
  const { isLoopback } = await import("../server/authentication.js");
  if (isShared || isLoopback(host)) return;
  throw new Error(`other machines can reach host ${host}: pass --anonymous to let all callers share all tasks`);
}
