import { type Command, InvalidArgumentError, Option } from "commander";
import { type LevelWithSilent, pino } from "pino";
import { cardPaths } from "../card/endpoint.js";
import { bindingTable } from "../card/mounts.js";
import type { AgentInterface } from "../protocol/model.js";
import { operationOf } from "../protocol/operations.js";
import { versionParameter } from "../protocol/service-parameters.js";
import { isLoopback, type Server, serve } from "../server/serve.js";
import { textAnalyst } from "./demo/agent.js";
import { analystCard } from "./demo/card.js";
import { packageVersion } from "./package-version.js";

interface DemoFlags {
  readonly port: number;
  readonly host: string;
  readonly anonymous: boolean;
  readonly logLevel: LevelWithSilent;
}

const defaultPort = 41241;
const levels = [...Object.values(pino.levels.labels), "silent"];

/** Adds `trivium demo`. */
export function addDemo(program: Command): void {
  program
    .command("demo")
    .description("serve the text analyst, an agent to try things on, until SIGINT or SIGTERM")
    .addOption(
      new Option("--port <number>", "0 takes a free one").env("PORT").default(defaultPort).argParser(parsePort),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--anonymous", "let whoever reaches the host share all tasks; needed for a host beyond this machine", false)
    .addOption(new Option("--log-level <level>").env("LOG_LEVEL").default("info").choices(levels))
    .action(demo);
}

async function demo({ port, host, anonymous, logLevel }: DemoFlags): Promise<void> {
  if (!anonymous && !isLoopback(host)) {
    throw new Error(
      `host ${host} can be reached from other machines: say --anonymous to let all callers share all tasks`,
    );
  }
  const logger = pino(
    { level: logLevel, base: null, serializers: { error: pino.stdSerializers.err } },
    pino.destination({ dest: 2, sync: true }),
  );
  const card = analystCard(packageVersion());
  const options = { card, agent: textAnalyst, port, host, logger, handleSignals: true };
  try {
    const server = await serve(anonymous ? { ...options, anonymous: "shared" } : options);
    process.stdout.write(greeting(server));
  } catch (error) {
    throw isPortTaken(error) ? new Error(`port ${port} on ${host} is taken: choose another one with --port`) : error;
  }
}

function isPortTaken(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE"
  );
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}

function greeting({ card, url }: Server): string {
  const interfaces = card.supportedInterfaces;
  const lines = interfaces.map(({ protocolBinding, url: address }) => `  ${protocolBinding.padEnd(10)} ${address}`);
  const commands = interfaces.flatMap((each) => commandTable[each.protocolBinding]?.(each) ?? []);
  return [
    `${card.name} ${card.version} listens.`,
    "",
    `  ${"card".padEnd(10)} ${url}${cardPaths[0]}`,
    ...lines,
    "",
    "Try it from the folder of this project:",
    ...commands.map((command) => `\n  ${command}`),
    "\n",
  ].join("\n");
}

/** A command to copy for each binding, by the wire's word for it. */
const commandTable: Readonly<Record<string, (place: AgentInterface) => string>> = {
  [bindingTable["json-rpc"].wire]: (place) =>
    curl("-s", place, "", {
      jsonrpc: "2.0",
      id: 1,
      method: operationOf("sendMessage").method,
      params: messageOf({ text: "The quick brown fox jumps over the lazy dog. It does so every day." }),
    }),
  [bindingTable["http-json"].wire]: (place) =>
    curl(
      "-sN",
      place,
      "/message:stream",
      messageOf({ text: "city,people\nOslo,709000\nBergen,", mediaType: "text/csv" }),
    ),
  [bindingTable.grpc.wire]: ({ url }) => {
    const request = messageOf({ data: [{ city: "Oslo", people: 709_000 }, { city: "Bergen" }] });
    return `npx trivium call ${url} ${operationOf("sendStreamingMessage").method} '${JSON.stringify(request)}'`;
  },
};

function messageOf(part: object): object {
  return { message: { messageId: "1", role: "ROLE_USER", parts: [part] } };
}

function curl(flags: string, { url, protocolVersion }: AgentInterface, path: string, body: object): string {
  const headers = `-H 'Content-Type: application/json' -H '${versionParameter}: ${protocolVersion}'`;
  return `curl ${flags} '${url}${path}' ${headers} -d '${JSON.stringify(body)}'`;
}
