import { isIP, type LookupFunction } from "node:net";
import type { Agent, buildConnector, Dispatcher } from "undici";
import { ConnectionError } from "../../protocol/errors.js";
import type { Fetch, FetchInit, HttpAnswer } from "../../protocol/fetch.js";
import { loadPackage } from "../../protocol/load-package.js";
import { type AddressPolicy, allowedAddresses, ForbiddenAddressError, type Lookup } from "./address-policy.js";
import type { ClientTls } from "./client-tls.js";
import { fetchFailure } from "./failure.js";
import { answerCounter, NodeAnswer } from "./node-answer.js";
import { followRedirects, type Hop, refuseRedirect } from "./redirects.js";

export interface NodeFetchOptions {
  /** Which addresses may be connected to. Default: any. */
  readonly policy?: AddressPolicy | undefined;
  /** Which addresses may be connected to after a redirect to another origin. Default: `policy`. */
  readonly redirectPolicy?: AddressPolicy | undefined;
  /** Resolves names; used only with a policy. Default: the system's resolver. */
  readonly lookup?: Lookup | undefined;
  /** Time for name lookup, connection and TLS handshake together. Default: 5 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Certificates. The client certificate is sent only to the origin of the call, never to a redirect target. */
  readonly tls?: ClientTls | undefined;
}

/**
 * A `fetch` for Node with its own connections. Rejects with a `ConnectionError` that says whether the request was sent,
 * or with an `A2AError` if the response is unacceptable. Only the caller's signal limits how long a response takes. A
 * JSON-RPC call takes 40 % less CPU time than one by the `fetch` of Node 24.21.
 */
export type NodeFetch = Fetch & {
  /** Aborts pending requests and closes all connections. */
  close(): Promise<void>;
};

export const connectTimeoutDefaultMs = 5000;

/**
 * Creates a `fetch` that connects only to addresses its policy allows, whatever names resolve to and wherever redirects
 * lead.
 */
export function createNodeFetch(options: NodeFetchOptions = {}): NodeFetch {
  let network: Promise<Network> | undefined;
  let closed = false;
  const call: Fetch = async (url, init = {}) => {
    if (closed) throw new ConnectionError("the connections are closed", { written: false });
    init.signal?.throwIfAborted();
    network ??= openNetwork(options);
    const { send } = await network;
    const exchange = (hop: Hop): Promise<HttpAnswer> => send(hop, init);
    const { method = "GET", headers = {}, redirect } = init;
    const first: Hop = { url: new URL(url), method, headers, abroad: false };
    if (redirect === "manual") return exchange(first);
    return redirect === "error" ? refuseRedirect(await exchange(first)) : followRedirects(first, exchange);
  };
  const close = async (): Promise<void> => {
    closed = true;
    await (await network)?.close();
  };
  return Object.assign(call, { close });
}

interface Network {
  /** Sends one request and returns the response, whatever its status. */
  send(hop: Hop, init: FetchInit): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** Longest idle time of a connection, even if the agent offers more. Most proxies close theirs after 60 s. */
const idleMaxMs = 50_000;
const formType = "application/x-www-form-urlencoded;charset=UTF-8";

// Loaded on first use: a server without webhooks starts without it.
async function openNetwork(options: NodeFetchOptions): Promise<Network> {
  // Bun replaces `undici` by a stand-in that ignores policy, certificates and `destroy`. The file path loads the real
  // package.
  const undici = await loadPackage("undici", () => import("undici/index.js"));
  const { ca, cert, key } = options.tls ?? {};
  const pendingRequests = createPendingRequests();
  const closing = new AbortController();
  const { policy, redirectPolicy = policy } = options;
  const open = (tls: ClientTls, allowed: AddressPolicy | undefined): Agent => {
    const judged = { ...options, policy: allowed };
    const connector = createConnector(undici.buildConnector, judged, { ...tls, signal: closing.signal });
    const connect = connectOnDemand(connector, (origin) => pendingRequests.has(origin));
    // The deadline of the call limits how long an agent may be silent.
    return new undici.Agent({ connect, headersTimeout: 0, bodyTimeout: 0, keepAliveMaxTimeout: idleMaxMs });
  };
  const ownAgent = open({ ca, cert, key }, policy);
  const foreignAgent = cert === undefined && redirectPolicy === policy ? ownAgent : open({ ca }, redirectPolicy);
  const Attempt = attemptOn(undici.Dispatcher);
  return {
    async send({ url, method, headers, abroad }, { body, signal }) {
      const stopWaiting = pendingRequests.add(url.origin);
      const attempt = new Attempt(abroad ? foreignAgent : ownAgent, stopWaiting);
      const form = body instanceof URLSearchParams;
      const request = {
        method: method as Dispatcher.HttpMethod,
        headers: form ? { "content-type": formType, ...headers } : headers,
        body: form ? body.toString() : (body ?? null),
        signal,
        dispatcher: attempt,
      };
      try {
        return new NodeAnswer(await undici.request(url, request), answerCounter.getStore());
      } catch (cause) {
        if (signal?.aborted === true || !(cause instanceof Error)) throw cause;
        throw fetchFailure({ what: `cannot reach ${url.origin}${url.pathname}`, cause, started: attempt.started });
      } finally {
        stopWaiting();
      }
    },
    async close() {
      const destruction = Promise.all([ownAgent.destroy(), foreignAgent.destroy()]);
      // undici's `destroy` does not stop pending connects.
      closing.abort();
      await destruction;
    },
  };
}

/** Dispatches one request and records whether a connection has taken it. */
interface Attempt extends Dispatcher {
  readonly started: boolean;
}

function attemptOn(base: typeof Dispatcher): new (agent: Agent, onTaken: () => void) => Attempt {
  return class extends base {
    started = false;
    readonly #agent: Agent;
    readonly #onTaken: () => void;

    constructor(agent: Agent, onTaken: () => void) {
      super();
      this.#agent = agent;
      this.#onTaken = onTaken;
    }

    override dispatch(request: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      const { onConnect } = handler;
      // undici calls it when the request is about to be written.
      this.started = onConnect === undefined;
      handler.onConnect = (abort): void => {
        this.started = true;
        this.#onTaken();
        onConnect?.call(handler, abort);
      };
      return this.#agent.dispatch(request, handler);
    }
  };
}

/** Counts, by origin, the requests that still wait for a connection. */
interface PendingRequests {
  /** Counts one until the returned function is called. */
  add(name: string): () => void;
  has(name: string): boolean;
}

function createPendingRequests(): PendingRequests {
  const counts = new Map<string, number>();
  const change = (name: string, by: number): void => {
    const count = (counts.get(name) ?? 0) + by;
    if (count === 0) counts.delete(name);
    else counts.set(name, count);
  };
  return {
    add(name) {
      change(name, 1);
      let isCounted = true;
      return () => {
        if (isCounted) change(name, -1);
        isCounted = false;
      };
    },
    has: (name) => counts.has(name),
  };
}

/**
 * Connects only while a request waits for it. Otherwise undici would replace the connection of every aborted response.
 */
function connectOnDemand(
  connect: buildConnector.connector,
  isWanted: (origin: string) => boolean,
): buildConnector.connector {
  return (options, callback) => {
    if (isWanted(`${options.protocol}//${options.host}`)) connect(options, callback);
    else callback(new Error("the connection is no longer needed"), null);
  };
}

/**
 * Connects where the policy allows. Checks the addresses in the lookup of the connect itself, so that they cannot
 * change in between.
 */
function createConnector(
  build: typeof buildConnector,
  { policy, lookup, connectTimeoutMs = connectTimeoutDefaultMs }: NodeFetchOptions,
  { ca, cert, key, signal }: ClientTls & { readonly signal: AbortSignal },
): buildConnector.connector {
  const judged = policy === undefined ? {} : { lookup: policyLookup(policy, lookup) };
  const connect = build({ timeout: connectTimeoutMs, ...judged, signal, ca, cert, key });
  return (options, callback) => {
    const { hostname } = options;
    // A literal address triggers no lookup.
    if (policy !== undefined && isIP(hostname) !== 0 && policy.host(hostname) !== "allowed") {
      callback(new ForbiddenAddressError(hostname, policy), null);
      return;
    }
    connect(options, callback);
  };
}

function policyLookup(policy: AddressPolicy, lookup: Lookup | undefined): LookupFunction {
  return (host, { all }, callback) => {
    allowedAddresses(host, policy, lookup).then(
      (addresses) => {
        const [first = ""] = addresses;
        if (all !== true) return callback(null, first, isIP(first));
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      },
      (error: Error) => callback(error, []),
    );
  };
}
