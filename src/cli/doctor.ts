import { type Command, Option } from "commander";
import type { ConnectOptions } from "../client/options.js";
import { toBindingName } from "../protocol/bindings.js";
import { addCallerOptions, type CallerFlags, callerOptions } from "./caller.js";
import { type Finding, findingText } from "./doctor/finding.js";
import { checkUsage, parseDuration, parsePort } from "./option-values.js";
import { print, printJson } from "./print.js";
import { storeLocation } from "./store-location.js";
import { agentUrl } from "./target.js";

// Without a URL, `doctor` checks this machine and the database; with one, a running agent from outside. A file of `doctor/`
// is one subject: it makes its calls and returns findings, and an error of a call is a finding too.
//
// `examine` goes from the outside in:
//
//   TLS → readiness → the card, and a harmless call of each interface → HTTP/2 → a streamed message, with --send
//
// Without a card there is nothing more to call. The result of readiness is used later: it explains calls that a busy server
// refuses, and streams are not watched on a draining one. `failed-call.ts` says what a failed call means and what to do;
// `interface-options.ts` withholds secrets from interfaces on other hosts than that of the card.

interface DoctorFlags extends CallerFlags {
  readonly store?: string;
  readonly storeCheck: number;
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
      new Option("--store-check <time>", "longest check of the pages of a SQLite file: 10m; 0s for none")
        .default(30_000, "30s")
        .argParser(parseDuration),
    )
    .addOption(
      new Option("--port <number>", "port that an agent will listen on")
        .env("PORT")
        .default(41_241)
        .argParser(parsePort),
    )
    .option("--send <text>", "message to send, to check that its stream is not buffered")
    .addOption(
      new Option("--idle <time>", "how long an idle stream must last: 90s, 5m")
        .default(10_000, "10s")
        .argParser(parseDuration),
    )
    .option("--json", "print the results as JSON", false)
    .addHelpText("after", examples)
    .action((url: string | undefined, flags: DoctorFlags) => doctor(command, url, flags));
}

async function doctor(command: Command, url: string | undefined, flags: DoctorFlags): Promise<void> {
  const { store, json } = flags;
  const location = store === undefined || store === "" ? undefined : checkUsage(command, () => storeLocation(store));
  const agent = url === undefined ? undefined : checkUsage(command, () => agentUrl(url));
  const options = agent === undefined ? undefined : checkUsage(command, () => readConnectOptions(flags, agent));
  // A check needs no orderly end: a signal ends the command at once.
  const findings: Finding[] = [];
  const report = async (newFindings: readonly Finding[]): Promise<void> => {
    findings.push(...newFindings);
    if (!json) for (const each of newFindings) await print(findingText(each));
  };
  if (agent === undefined) {
    const { checkMachine } = await import("./doctor/machine.js");
    await report(await checkMachine(flags.port));
  }
  // A database that only the environment names may belong to another agent.
  if (location !== undefined && (agent === undefined || command.getOptionValueSource("store") === "cli")) {
    const { checkStore } = await import("./doctor/store.js");
    await report(await checkStore(location, flags.storeCheck));
  }
  if (agent !== undefined) await examine(agent, { ...flags, options }, report);
  const failureCount = findings.filter(({ result }) => result === "failed").length;
  if (json) await printJson({ ok: failureCount === 0, findings });
  if (failureCount > 0) process.exitCode = 1;
}

async function examine(
  agent: string,
  { send, idle, timeout = defaultTimeoutMs, options }: DoctorFlags & { readonly options: ConnectOptions | undefined },
  report: (newFindings: readonly Finding[]) => Promise<void>,
): Promise<void> {
  const url = new URL(agent);
  if (url.protocol === "https:") {
    const { checkTls } = await import("./doctor/tls.js");
    await report(await checkTls(url, timeout, options?.tls));
  }
  const { checkReadiness } = await import("./doctor/readiness.js");
  const { status, findings: readiness } = await checkReadiness({ url: agent, timeoutMs: timeout, tls: options?.tls });
  await report(readiness);
  const isUnready = status !== undefined && status !== "ready";
  const { checkAgent } = await import("./doctor/agent.js");
  const { card, findings } = await checkAgent({ url: agent, options: options ?? {}, timeoutMs: timeout, isUnready });
  await report(findings);
  if (card === undefined) return;
  const { checkHttp2 } = await import("./doctor/http2.js");
  const grpc = card.supportedInterfaces.find(({ protocolBinding }) => toBindingName(protocolBinding) === "GRPC");
  const address = grpc === undefined || grpc.url.includes("://") ? grpc?.url : `${url.protocol}//${grpc.url}`;
  const http2 = { url: new URL(address ?? url), hasGrpc: grpc !== undefined };
  await report(
    await checkHttp2({
      ...http2,
      isDraining: status === "draining",
      timeoutMs: timeout,
      idleMs: idle,
      tls: options?.tls,
    }),
  );
  const { checkStreaming } = await import("./doctor/streaming.js");
  await report(await checkStreaming({ url: agent, card, message: send, options: options ?? {}, isUnready }));
}

function readConnectOptions(flags: CallerFlags, agent: string): ConnectOptions {
  const { timeout: cardTimeoutMs = defaultTimeoutMs } = flags;
  const grpcTls = agent.startsWith("https:");
  const caller = callerOptions(flags, agent);
  // An agent that is down is a finding, so nothing waits for it.
  return { ...caller, limits: { cardTimeoutMs }, grpcTls, cardCache: false, extendedCard: false, retry: false };
}
