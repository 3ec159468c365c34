import { requestIdParameter } from "../binding/request-id.js";
import type { Transport } from "../binding/transport.js";
import { createTransport } from "../binding/transport.js";
import type { Client, ClientParts } from "../client/base-client.js";
import type { localClient } from "../client/local-client.js";
import type { SendOptions } from "../client/send-options.js";
import type { TurnCaller, TurnClients } from "../core/turn-start.js";
import { assertOptions, object, type Rule, record, string } from "../protocol/check/rules.js";
import type { CallOptions, Principal } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { suggestion } from "../protocol/nearest.js";
import { invokeStream, invokeUnary, type Operations } from "../protocol/operations.js";
import { isAuthenticated } from "./authentication.js";
import type { ComposedLocalAgent } from "./compose-local-agent.js";
import { toKey, toPath } from "./directory.js";
import type { SharedParts } from "./multi-agent.js";
import { hasOwnAuth, type ServedAgentOptions } from "./options.js";

// Clients of the server's agents that need no wire: `turn.client(path)` for a turn, `server.client(path)` for the
// program. They call through the in-process transport, and so pass the pipeline of every call.
//
// A call of a turn carries its caller's principal, unless the options name another, and its chain: the path of agents
// so far, which `agentCallDepth` bounds, and the requirements that hold for the caller. Of the headers that the turn
// was called with, `forwardHeaders` passes on the request id and the place in the trace, and nothing else: credentials
// never.

/** Options of a client of one of the server's own agents. */
export interface LocalClientOptions {
  /**
   * The caller, whose tasks the client sees. It is not authenticated again. Default: the shared caller of an agent
   * without `auth` and `authenticate`; required for other agents.
   */
  readonly principal?: Principal | undefined;
  /** Headers of every call. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The code of clients, loaded before the first agent is served. */
export interface ClientCode {
  readonly localClient: typeof localClient;
  readonly observe: ((parts: ClientParts) => ClientParts) | undefined;
}

/** Trace headers that a turn forwards with its calls. */
const traceHeaders = ["traceparent", "tracestate", "baggage"] as const;

const principalRule: Rule = (value, path) => string(Object(value)["owner"], `${path}.owner`);
const optionsRule = object({ principal: { rule: principalRule }, headers: { rule: record(string) } });

/** Makes clients of the agents of a server, for their turns and for the program. */
export class LocalClients {
  readonly #shared: SharedParts;
  readonly #code: ClientCode;

  constructor(shared: SharedParts, code: ClientCode) {
    this.#shared = shared;
    this.#code = code;
  }

  /** A client for the program. Throws a `TypeError` for a path without an agent, or without the principal it needs. */
  client(path: string, options: LocalClientOptions = {}): Client {
    assertOptions("client()", options, optionsRule);
    const { agentOptions } = this.#entry(path, "client()");
    const { headers, principal } = options;
    if (principal === undefined && isAuthenticated(hasOwnAuth(agentOptions) ? agentOptions : this.#shared.options)) {
      throw new TypeError(`client(${JSON.stringify(path)}): pass \`principal\`: the agent authenticates its callers`);
    }
    return this.#createClient(path, (of) => of.inProcess({ principal, headers }), undefined);
  }

  /** The clients for the turns of an agent. */
  of(key: string, agentOptions: ServedAgentOptions): TurnClients {
    return (path, turn, options = {}) => {
      assertOptions("turn.client()", options, optionsRule);
      const target = this.#entry(path, "turn.client()");
      const isSame = target.key === key || !(hasOwnAuth(target.agentOptions) || hasOwnAuth(agentOptions));
      if (!isSame && options.principal === undefined) {
        throw new TypeError(
          `turn.client(${JSON.stringify(path)}): pass \`principal\`: the agents authenticate callers separately`,
        );
      }
      const { principal = turn.principal } = options;
      const via = [...(turn.chain?.via ?? []), toPath(key)];
      const { authorize, authorizeAnswer } = (options.principal === undefined ? turn.chain : undefined) ?? {};
      const chain = { via, authorize, authorizeAnswer };
      const headers = { ...forwardHeaders(turn), ...options.headers };
      return this.#createClient(
        path,
        (of) => {
          const { agentCallDepth } = of.limits;
          if (via.length > agentCallDepth) throw tooDeep(via, path, agentCallDepth);
          return of.inProcess({ principal, headers, chain });
        },
        () => turnDefaults(turn, target.agent.card.card().capabilities?.streaming === true),
      );
    };
  }

  #createClient(
    path: string,
    call: (agent: ComposedLocalAgent) => Transport,
    defaults: (() => SendOptions) | undefined,
  ): Client {
    const { directory, clock, address, options } = this.#shared;
    const key = toKey(path);
    const current = (): ComposedLocalAgent => {
      const agent = directory.get(key)?.agent;
      if (agent !== undefined) return agent;
      throw new A2AError("methodNotFound", `no agent at ${path}: it was removed`);
    };
    let latest: { readonly agent: ComposedLocalAgent; readonly calls: Transport } | undefined;
    // The agent may have been replaced since the last call.
    const calls = (): Transport => {
      const agent = current();
      if (latest?.agent !== agent) latest = { agent, calls: call(agent) };
      return latest.calls;
    };
    const operations: Operations<CallOptions> = createTransport({
      unary: async (operation, request, callOptions) => invokeUnary(calls(), operation, request, callOptions),
      stream: (operation, request, callOptions) => invokeStream(calls(), operation, request, callOptions),
    });
    const { localClient, observe } = this.#code;
    const url = `${address().origin}${options.basePath ?? ""}${key}`;
    return localClient({ url, card: () => current().card.card(), operations, clock, defaults, observe });
  }

  #entry(path: string, call: string) {
    const { directory } = this.#shared;
    const key = toKey(path);
    const entry = directory.get(key);
    if (entry !== undefined) return { key, agent: entry.agent, agentOptions: entry.options };
    const paths = directory.entries.map((each) => toPath(each.path));
    throw new TypeError(`${call}: there is no agent at ${JSON.stringify(path)}: ${suggestion(path, paths)}`);
  }
}

/** Defaults of a turn's call: it ends with the turn, and its task is then canceled. */
function turnDefaults({ signal, leftMs }: TurnCaller, streams: boolean): SendOptions {
  return { signal, timeoutMs: leftMs(), cancelOnAbort: streams };
}

function forwardHeaders({ header, requestId }: TurnCaller): Record<string, string> {
  const headers: Record<string, string> = requestId === undefined ? {} : { [requestIdParameter]: requestId };
  for (const name of traceHeaders) {
    const value = header?.(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

function tooDeep(via: readonly string[], path: string, limit: number): A2AError {
  const way = [...via, path].slice(-4).join(" → ");
  return new A2AError(
    "resourceExhausted",
    `the chain of agent calls is too long (… ${way}): the limit is ${limit} (agentCallDepth)`,
    { metadata: { limit: "agentCallDepth" } },
  );
}
