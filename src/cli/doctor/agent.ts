import { randomUUID } from "node:crypto";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import type { Client } from "../../client/node.js";
import type { ConnectOptions } from "../../client/options.js";
import { A2AError } from "../../protocol/errors.js";
import { isLoopback } from "../../protocol/loopback.js";
import { type AgentCard, type AgentInterface, typeNames } from "../../protocol/model.js";
import { ask } from "./ask.js";
import { findCardRemedy, findCause, hasSecrets } from "./failed-call.js";
import { describeCause, type Finding, findings } from "./finding.js";
import { interfaceOptions } from "./interface-options.js";
import { offsetFinding } from "./store.js";

export interface AgentCheck {
  readonly url: string;
  readonly options: ConnectOptions;
  readonly timeoutMs: number;
  /** Whether the server says that it refuses work. Default: false. */
  readonly isUnready?: boolean;
}

/** Findings about the card and its interfaces. */
export interface AgentFindings {
  /** `undefined` when it cannot be read. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly Finding[];
}

/** Reads the card and calls each interface in it. */
export async function checkAgent(check: AgentCheck): Promise<AgentFindings> {
  const { url, options, timeoutMs } = check;
  const clock = await checkClock(url, timeoutMs, options.tls);
  const { Client } = await import("../../client/node.js");
  const report = findings("card");
  let client: Client;
  try {
    client = await Client.connect(url, options);
  } catch (error) {
    return { card: undefined, findings: [await missingCard(error, url, options), ...clock] };
  }
  const { card } = client;
  await client.close();
  const summary = `${card.name} ${card.version}, ${card.supportedInterfaces.length} interfaces`;
  const interfaceFindings: Finding[] = [];
  for (const each of card.supportedInterfaces) interfaceFindings.push(await checkInterface(card, each, check));
  return { card, findings: [report.ok(summary), ...clock, ...interfaceFindings] };
}

/** A server of several agents has a card for each, and none at its root. */
async function missingCard(error: unknown, url: string, options: ConnectOptions): Promise<Finding> {
  const report = findings("card");
  const { findSiblingAgents } = await import("../listed-agents.js");
  const agents = await findSiblingAgents(url, options);
  if (agents.length > 0) {
    const commands = agents.map((agent) => `trivium doctor ${agent}`);
    return report.failed(`no agent card at ${url}, its server has several agents`, commands.join("\n"));
  }
  const remedy = findCardRemedy(error) ?? cardRemedy(url, options);
  const several = "a server of several agents has each below its path, and lists them with catalogue: true";
  return report.failed(describeCause(error), isNotFound(error) ? `${remedy}; ${several}` : remedy);
}

function isNotFound(error: unknown): boolean {
  return error instanceof A2AError && /\b404\b/.test(error.message);
}

function cardRemedy(url: string, { tls }: ConnectOptions): string {
  const remedy = "check the URL, that the server runs, and that proxies pass /.well-known/";
  const isPlain = !url.startsWith("https:") || tls?.cert !== undefined;
  return isPlain ? remedy : `${remedy}; a server that wants a certificate needs --cert and --key`;
}

/** Compares the clock with the `Date` of an answer, which is exact to a second. */
async function checkClock(url: string, timeoutMs: number, tls: ClientTls = {}): Promise<readonly Finding[]> {
  try {
    const begin = Date.now();
    const time = Date.parse((await ask(url, { method: "HEAD", timeoutMs, tls })).date ?? "");
    if (Number.isNaN(time)) return [findings("clock").skipped("the server sends no Date header")];
    // The header has whole seconds.
    return [offsetFinding("clock", (begin + Date.now()) / 2 - (time + 500), "the server")];
  } catch {
    return [];
  }
}

/** Probes an interface with a harmless GetTask: the task does not exist. */
async function checkInterface(card: AgentCard, agentInterface: AgentInterface, check: AgentCheck): Promise<Finding> {
  const { protocolBinding, protocolVersion, url } = agentInterface;
  const report = findings(`interface ${protocolBinding} ${protocolVersion}`);
  const loopbackProblem = findLoopbackProblem(check.url, url);
  const { Client } = await import("../../client/node.js");
  const singleCard = { ...card, supportedInterfaces: [agentInterface] };
  const { options, withholdReason } = interfaceOptions({ ...check, card }, agentInterface);
  try {
    await using client = await Client.connect(singleCard, { ...options, timeoutMs: check.timeoutMs, retry: false });
    await client.operations.getTask({ ...emptyGetTask, id: randomUUID() }, {});
    return report.ok(url);
  } catch (error) {
    if (error instanceof A2AError && answerCodes.has(error.code)) {
      if (loopbackProblem === undefined) return report.ok(url);
      return report.warning(`${url}: ${loopbackProblem}`, "set publicUrl to the address that callers use");
    }
    if (loopbackProblem !== undefined) {
      return report.failed(
        `${url}: ${describeCause(error)}`,
        `${loopbackProblem}: set publicUrl to the address that callers use`,
      );
    }
    const cause = findCause({
      error,
      binding: protocolBinding,
      withholdReason,
      isUnready: check.isUnready === true,
      hasSecrets: hasSecrets(options),
    });
    return report[cause.result](`${url}: ${cause.seen}`, cause.remedy);
  }
}

/** Errors that show that the agent can be reached and understood the call. */
const answerCodes: ReadonlySet<string> = new Set(["taskNotFound", "unsupportedOperation", "invalidParams"]);

const emptyGetTask = { $typeName: typeNames.GetTaskRequest, id: "", tenant: "" } as const;

/** The problem of a card of another machine that names a loopback address. */
function findLoopbackProblem(cardUrl: string, interfaceUrl: string): string | undefined {
  // The URL of a gRPC interface may have no scheme.
  const host = URL.parse(interfaceUrl.replace(/^(?:\w+:\/\/)?/, "http://"))?.hostname ?? "";
  if (!isLoopback(host) || isLoopback(new URL(cardUrl).hostname)) return undefined;
  return "the card names a loopback address, which other machines cannot reach";
}
