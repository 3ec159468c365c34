import { leaveStream } from "../../protocol/async/steps.js";
import type { ReadHeader } from "../../protocol/context.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import { isObject } from "../../protocol/kinds.js";
import { defaultListenerLimits } from "../listen/connection.js";
import { conflictingHosts } from "./conflicting-host.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "./http.js";
import { type MountedPath, toMountedPath } from "./mount.js";
import { type HandlerOptions, notFound } from "./node-listener.js";
import { splitTarget } from "./node-request.js";
import { readFetchBody } from "./request-body.js";

// HTTP in Fetch runtimes: from a `Request` to the endpoint, and from its reply to a `Response`, whose body asks for a piece
// only when its reader does. It does what `node-listener.ts` does, without connections: the runtime knows the peer, and only
// Hono's `mount()` strips a path prefix.

export interface FetchHandlerOptions extends HandlerOptions {
  /** Returns the peer's address if the runtime knows it. Default: unknown. */
  readonly remoteAddress?: ((request: Request) => string | undefined) | undefined;
  /**
   * Called when the framework has cut an unknown path off the request. Returns a reply, or `undefined` to continue.
   * Default: continue.
   */
  readonly refuseUnmounted?: ((path: string) => HttpReply | undefined) | undefined;
}

/** A handler of Fetch-standard requests. Runtimes and frameworks call it with more arguments of their own. */
export type FetchListener = (request: Request, ...more: readonly unknown[]) => Promise<Response>;

/** Serves an endpoint in any Fetch-standard runtime: Bun, Deno, Next, Hono, workers. */
export function fetchHandler(endpoint: HttpEndpoint, options: FetchHandlerOptions = {}): FetchListener {
  const { refuseUnmounted, explainMiss } = options;
  return async (request, ...more) => {
    const url = new URL(request.url);
    // `get` joins repeated headers with commas.
    if (request.headers.get("host")?.includes(",") === true) return responseFromReply(conflictingHosts);
    const mounted = findMountedPath(url.pathname, more, options.basePath);
    const refusal = mounted?.isGuessed ? refuseUnmounted?.(mounted.path) : undefined;
    const reply = refusal ?? (mounted && (await endpoint(new FetchRequest(request, url, mounted, options))));
    return responseFromReply(reply ?? explainMiss?.(url.pathname) ?? notFound);
  };
}

interface CallPlace extends MountedPath {
  /** Whether the framework may have cut off a path that is unknown here. */
  readonly isGuessed?: boolean;
}

// Only what is below `basePath` is taken. A path is not searched for the agent's own routes: a guard of a proxy by path would
// let `/x/json-rpc` pass.
function findMountedPath(path: string, more: readonly unknown[], basePath: string | undefined): CallPlace | undefined {
  const hono = honoCall(more);
  const mounted = toMountedPath(path, hono?.original ?? path, basePath);
  if (hono === undefined || hono.original !== undefined) return mounted;
  if (basePath === undefined) return { mountPath: "", path, isGuessed: true };
  return mounted ?? { mountPath: trimSlashes(basePath), path };
}

class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly mountPath: string;
  readonly query: string;
  readonly secure: boolean;
  readonly #request: Request;
  readonly #host: string;
  readonly #options: FetchHandlerOptions;

  constructor(request: Request, url: URL, mounted: MountedPath, options: FetchHandlerOptions) {
    this.method = request.method;
    this.path = mounted.path;
    this.mountPath = mounted.mountPath;
    this.query = url.search.slice(1);
    this.secure = url.protocol === "https:";
    this.#request = request;
    this.#host = url.host;
    this.#options = options;
  }

  get native(): unknown {
    return this.#options.request ?? this.#request;
  }

  get remoteAddress(): string | undefined {
    return this.#options.remoteAddress?.(this.#request);
  }

  get isParsed(): boolean {
    return false;
  }

  get certificate(): undefined {
    return undefined;
  }

  header(name: string): string | undefined {
    return headerIn(this.#request.headers, this.#host, name);
  }

  headers(): ReadHeader {
    const { headers } = this.#request;
    const host = this.#host;
    return (name) => headerIn(headers, host, name);
  }

  body(maxBytes: number, onPiece: (piece: Uint8Array) => void): Promise<Uint8Array> {
    const { times = defaultListenerLimits } = this.#options;
    return readFetchBody(this.#request, { maxBytes, times, onPiece });
  }

  onLeave(listener: () => void): void {
    const { signal } = this.#request;
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }
}

function responseFromReply(reply: HttpReply): Response {
  const { body } = reply;
  const init = { status: reply.status, headers: { ...reply.headers } };
  if (body === undefined) return new Response(null, init);
  if (typeof body === "string") return new Response(body, init);
  return new Response(body instanceof Uint8Array ? new Uint8Array(body) : toStream(body), init);
}

/** Reads a piece only when the reader pulls; nothing is read ahead. */
function toStream(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      },
      cancel() {
        leaveStream(iterator);
      },
    },
    { highWaterMark: 0 },
  );
}

function headerIn(headers: Headers, host: string, name: string): string | undefined {
  return headers.get(name) ?? (name === "host" ? host : undefined);
}

// Hono's `app.mount(path, handler)` cuts its path off the request and calls `handler(request, env, executionContext)`.
// The request does not show what was cut off. On Node, `env` has the request of Node's server, which does.

/**
 * Recognizes a call by Hono's `mount()`; `undefined` for other callers. `original`: the path before anything was cut off,
 * if it is known. Tried with Hono 4.13: outside of workers it passes an execution context that is undefined, which no
 * runtime does.
 */
function honoCall(more: readonly unknown[]): { readonly original: string | undefined } | undefined {
  if (more.length !== 2) return undefined;
  const [env, executionContext] = more;
  const original = findNodeUrl(env);
  if (original === undefined) return executionContext === undefined ? { original } : undefined;
  return { original: splitTarget(original).path };
}

function findNodeUrl(env: unknown): string | undefined {
  if (!isObject(env) || !("incoming" in env) || !isObject(env.incoming) || !("url" in env.incoming)) return undefined;
  const { url } = env.incoming;
  return typeof url === "string" ? url : undefined;
}
