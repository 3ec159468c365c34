import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { request as requestTls } from "node:https";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import type { Client } from "../../client/node.js";
import type { ConnectOptions } from "../../client/options.js";
import { bindingNameOf } from "../../protocol/bindings.js";
import { A2AError } from "../../protocol/errors.js";
import type { AgentCard, AgentInterface } from "../../protocol/model.js";
import { type Finding, findings, reasonOf } from "./finding.js";
import { interfaceOptions } from "./interface-options.js";
import { offsetFinding } from "./store.js";

export interface AgentCheck {
  readonly url: string;
  readonly options: ConnectOptions;
  readonly timeoutMs: number;
}

/** Findings about the card and its interfaces. */
export interface AgentFindings {
  /** `undefined` when it cannot be read. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly Finding[];
}

/** Reads the card and calls each interface in it. */
export async function checkAgent({ url, options, timeoutMs }: AgentCheck): Promise<AgentFindings> {
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
  for (const each of card.supportedInterfaces)
    interfaceFindings.push(await checkInterface(card, each, { url, options, timeoutMs }));
  return { card, findings: [report.ok(summary), ...clock, ...interfaceFindings] };
}

/** A server of several agents has a card for each, and none at its root. */
async function missingCard(error: unknown, url: string, options: ConnectOptions): Promise<Finding> {
  const report = findings("card");
  const { agentsBeside } = await import("../agents/beside.js");
  const agents = await agentsBeside(url, options);
  if (agents.length > 0) {
    const commands = agents.map((agent) => `trivium doctor ${agent}`);
    return report.failed(`no agent card at ${url}, its server has several agents`, commands.join("\n"));
  }
  const remedy = cardRemedy(url, options);
  const several = "a server of several agents has each below its path, and lists them with catalogue: true";
  return report.failed(reasonOf(error), isNotFound(error) ? `${remedy}; ${several}` : remedy);
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
    const time = Date.parse((await dateAt(url, timeoutMs, tls)) ?? "");
    if (Number.isNaN(time)) return [findings("clock").skipped("the server sends no Date header")];
    // The header has whole seconds.
    return [offsetFinding("clock", (begin + Date.now()) / 2 - (time + 500), "the server")];
  } catch {
    return [];
  }
}

/** The `Date` of an answer. Another check verifies the certificate, and no secret is sent. */
function dateAt(url: string, timeoutMs: number, tls: ClientTls): Promise<string | undefined> {
  const options = { method: "HEAD", agent: false, signal: AbortSignal.timeout(timeoutMs) } as const;
  return new Promise((resolve, reject) => {
    const clientRequest = url.startsWith("https:")
      ? requestTls(url, { ...options, ...tls, rejectUnauthorized: false })
      : request(url, options);
    clientRequest.once("response", (response) => {
      response.resume();
      resolve(response.headers.date);
    });
    clientRequest.once("error", reject);
    clientRequest.end();
  });
}

/** Probes an interface with a harmless GetTask: the task does not exist. */
async function checkInterface(card: AgentCard, agentInterface: AgentInterface, check: AgentCheck): Promise<Finding> {
  const { protocolBinding, protocolVersion, url } = agentInterface;
  const report = findings(`interface ${protocolBinding} ${protocolVersion}`);
  const loopbackProblem = loopbackProblemOf(check.url, url);
  const { Client } = await import("../../client/node.js");
  const singleCard = { ...card, supportedInterfaces: [agentInterface] };
  const { options, withholdReason: withheld } = interfaceOptions({ ...check, card }, agentInterface);
  try {
    await using client = await Client.connect(singleCard, { ...options, timeoutMs: check.timeoutMs, retry: false });
    await client.operations.getTask({ ...emptyGetTask, id: randomUUID() }, {});
    return report.ok(url);
  } catch (error) {
    if (error instanceof A2AError && answerCodes.has(error.code)) {
      if (loopbackProblem === undefined) return report.ok(url);
      return report.warning(`${url}: ${loopbackProblem}`, "set publicUrl to the address that callers use");
    }
    if (error instanceof A2AError && refusalCodes.has(error.code)) {
      const remedy = withheld === undefined ? "give --bearer, --credential or --header" : `${withheld} (--trust)`;
      return report.warning(`${url} answers and wants credentials`, remedy);
    }
    return report.failed(`${url}: ${reasonOf(error)}`, remedyFor(protocolBinding, loopbackProblem));
  }
}

/** Errors that show that the agent can be reached and understood the call. */
const answerCodes: ReadonlySet<string> = new Set(["taskNotFound", "unsupportedOperation", "invalidParams"]);
const refusalCodes: ReadonlySet<string> = new Set(["unauthenticated", "permissionDenied"]);

const emptyGetTask = { $typeName: "lf.a2a.v1.GetTaskRequest", id: "", tenant: "" } as const;

const loopback = /^(?:localhost|127\.|\[?::1)/;

/** The problem of a card of another machine that names a loopback address. */
function loopbackProblemOf(cardUrl: string, interfaceUrl: string): string | undefined {
  const host = interfaceUrl.replace(/^\w+:\/\//, "");
  if (!loopback.test(host) || loopback.test(new URL(cardUrl).host)) return undefined;
  return "the card names a loopback address, which other machines cannot reach";
}

function remedyFor(binding: string, loopbackProblem: string | undefined): string {
  if (loopbackProblem !== undefined) return `${loopbackProblem}: set publicUrl to the address that callers use`;
  if (bindingNameOf(binding) === "GRPC") {
    return "gRPC needs HTTP/2 and trailers all the way: in a proxy use grpc_pass (nginx), proto h2 (HAProxy) or HTTP/2 upstreams (Envoy), or set publicGrpc";
  }
  return "check that the proxy passes this path and its method POST, and that publicUrl is the address that callers use";
}
