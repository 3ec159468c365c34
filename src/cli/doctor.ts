import { type Command, InvalidArgumentError, Option } from "commander";
import type { ConnectOptions } from "../client/options.js";
import { bindingNamed } from "../protocol/bindings.js";
import { addCallerOptions, type CallerFlags, callerOptions, understood } from "./caller.js";
import { type Finding, findingText } from "./doctor/finding.js";
import { durationMs } from "./duration.js";
import { interruptible } from "./interruption.js";
import { print, printJson } from "./print.js";
import { storeLocation } from "./store-location.js";
import { agentUrl } from "./target.js";

interface DoctorFlags extends CallerFlags {
  readonly store?: string;
  readonly port: number;
  readonly send?: string;
  readonly idle: number;
  readonly json: boolean;
}

const defaultTimeoutMs = 5000;

const examples = `
Examples:
  trivium doctor                                   this machine, and the database in TRIVIUM_STORE
  trivium doctor --store postgres://db/agents
  trivium doctor https://agent.example             a running agent, from outside
  trivium doctor https://agent.example --send "Count to five." --idle 90s`;

/** `trivium doctor`. */
export function doctorCommand(command: Command): void {
  command.argument("[url]", "URL of the agent or of its card; without it this machine is checked");
  addCallerOptions(command)
    .addOption(
      new Option("--store <place>", "database to check: a file (SQLite), or postgres://…").env("TRIVIUM_STORE"),
    )
    .addOption(
      new Option("--port <number>", "port that an agent is to have").env("PORT").default(41_241).argParser(parsePort),
    )
    .option("--send <text>", "message to send, which shows whether its stream arrives as it is made")
    .addOption(
      new Option("--idle <time>", "how long an idle stream must last: 90s, 5m")
        .default(10_000, "10s")
        .argParser(parseTime),
    )
    .option("--json", "print the results as JSON", false)
    .addHelpText("after", examples)
    .action((url: string | undefined, flags: DoctorFlags) => doctor(command, url, flags));
}

async function doctor(command: Command, url: string | undefined, flags: DoctorFlags): Promise<void> {
  const { store, json } = flags;
  const location = store === undefined || store === "" ? undefined : understood(command, () => storeLocation(store));
  const agent = url === undefined ? undefined : understood(command, () => agentUrl(url));
  const options = agent === undefined ? undefined : understood(command, () => optionsOf(flags, agent));
  await interruptible(async () => {
    const all: Finding[] = [];
    const report = async (found: readonly Finding[]): Promise<void> => {
      all.push(...found);
      if (!json) for (const each of found) await print(findingText(each));
    };
    if (agent === undefined) {
      const { checkMachine } = await import("./doctor/machine.js");
      await report(await checkMachine(flags.port));
    }
    // The database is not the agent's own when it is only in the environment.
    if (location !== undefined && (agent === undefined || command.getOptionValueSource("store") === "cli")) {
      const { checkStore } = await import("./doctor/store.js");
      await report(await checkStore(location));
    }
    if (agent !== undefined) await examine(agent, { ...flags, options }, report);
    const failed = all.filter(({ result }) => result === "failed").length;
    if (json) await printJson({ ok: failed === 0, findings: all });
    if (failed > 0) process.exitCode = 1;
  });
}

async function examine(
  agent: string,
  { send, idle, timeout = defaultTimeoutMs, options }: DoctorFlags & { readonly options: ConnectOptions | undefined },
  report: (found: readonly Finding[]) => Promise<void>,
): Promise<void> {
  const url = new URL(agent);
  if (url.protocol === "https:") {
    const { checkTls } = await import("./doctor/tls.js");
    await report(await checkTls(url, timeout, options?.tls));
  }
  const { checkAgent } = await import("./doctor/agent.js");
  const { card, findings } = await checkAgent({ url: agent, options: options ?? {}, timeoutMs: timeout });
  await report(findings);
  if (card === undefined) return;
  const { checkHttp2 } = await import("./doctor/http2.js");
  const grpc = card.supportedInterfaces.find(({ protocolBinding }) => bindingNamed(protocolBinding) === "GRPC");
  const address = grpc === undefined || grpc.url.includes("://") ? grpc?.url : `${url.protocol}//${grpc.url}`;
  const http2 = { url: new URL(address ?? url), hasGrpc: grpc !== undefined };
  await report(await checkHttp2({ ...http2, timeoutMs: timeout, idleMs: idle, tls: options?.tls }));
  const { checkStreaming } = await import("./doctor/streaming.js");
  await report(await checkStreaming({ url: agent, card, message: send, options: options ?? {} }));
}

function optionsOf(flags: CallerFlags, agent: string): ConnectOptions {
  const { timeout: cardTimeoutMs = defaultTimeoutMs } = flags;
  const grpcTls = agent.startsWith("https:");
  return { ...callerOptions(flags, agent), limits: { cardTimeoutMs }, grpcTls, cardCache: false, extendedCard: false };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is a whole number from 0 to 65535.");
}

function parseTime(text: string): number {
  const ms = durationMs(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError("A time is a whole number with its unit: 90s, 5m.");
}
