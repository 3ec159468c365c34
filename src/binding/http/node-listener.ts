import { noop } from "../../protocol/async/noop.js";
import { type CallTimes, defaultListenerLimits } from "../listen/connection.js";
import { conflictingHosts, hasConflictingHosts } from "./conflicting-host.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "./http.js";
import { toMountedPath } from "./mount.js";
import { writeReply } from "./node-reply.js";
import { NodeRequest, type NodeResponse, splitTarget } from "./node-request.js";
import type { NodeIncoming } from "./request-body.js";

// Node's end of HTTP: from a request of its servers, or of a framework on top of them, to the endpoint and back.
//
// A request with two hosts is refused. Where the endpoint is mounted is read off the path, as the framework left it and as
// it arrived (`mount.ts`). The endpoint gets a `NodeRequest`, and its reply is written by `node-reply.ts`. A path that is
// not the endpoint's goes to `next`, or is explained. An endpoint never throws; should it, the caller gets 500.

/** How an endpoint is mounted in a server that another program made. */
export interface HandlerOptions {
  /** The time limits of request bodies. Default: the listener's. */
  readonly times?: CallTimes | undefined;
  /** The path where the endpoint is mounted. Default: what the framework cut off the request. */
  readonly basePath?: string | undefined;
  /** The framework's own request, passed on as `HttpRequest.native`. Default: what the handler is called with. */
  readonly request?: unknown;
  /**
   * Explains to a caller that the path is not the endpoint's, if nothing else can answer it. `undefined`: there is
   * nothing to explain. Default: no explanation.
   */
  readonly explainMiss?: ((path: string) => HttpReply | undefined) | undefined;
}

export interface NodeListenerOptions extends HandlerOptions {
  /** Called with the error of an endpoint that throws, which is a bug in the endpoint. Default: ignored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * A Node request listener. For paths that are not the agent's, it calls `next`, as in Express; without `next` it
 * replies 404.
 */
export type NodeListener = (req: NodeIncoming, res: NodeResponse, next?: (error?: unknown) => void) => void;

export const notFound: HttpReply = { status: 404, headers: { "Content-Type": "text/plain" }, body: "not found\n" };
const internalErrorReply: HttpReply = {
  status: 500,
  headers: { "Content-Type": "text/plain" },
  body: "internal error\n",
};

/** Serves an endpoint with Node's `http`, `https` or `http2` server, or anything else that calls `(req, res, next)`. */
export function nodeListener(endpoint: HttpEndpoint, options: NodeListenerOptions = {}): NodeListener {
  const { times = defaultListenerLimits, onError, basePath, request, explainMiss } = options;
  return (req, res, next) => {
    // `close` reports a failed socket. Without this listener its error would end the process.
    res.on("error", noop);
    if (hasConflictingHosts(req)) {
      writeReply(req, res, conflictingHosts, times);
      return;
    }
    const { path, query } = splitTarget(req.url ?? "/");
    const original = originalPath(req) ?? path;
    const write = (reply: HttpReply | undefined): void => {
      const answer = reply ?? (next === undefined || isRouted(req) ? explainMiss?.(original) : undefined);
      if (answer === undefined && next !== undefined) next();
      else writeReply(req, res, answer ?? notFound, times);
    };
    const fail = (error: unknown): void => {
      onError?.(error);
      if (res.headersSent) res.destroy();
      else writeReply(req, res, internalErrorReply, times);
    };
    const mounted = toMountedPath(path, original, basePath);
    if (mounted === undefined) write(undefined);
    else {
      const native = request ?? req;
      callEndpoint(endpoint, new NodeRequest(req, res, { ...mounted, query, times, native }))
        .then(write)
        .catch(fail);
    }
  };
}

/** The path as it arrived. Express, Connect and Fastify's middleware keep it when they cut their mount path off. */
function originalPath(req: object): string | undefined {
  return "originalUrl" in req && typeof req.originalUrl === "string" ? splitTarget(req.originalUrl).path : undefined;
}

/** Whether Express chose the handler by a route of its own (`app.all()`): what it does not answer, nothing else will. */
function isRouted(req: object): boolean {
  return "route" in req && req.route !== undefined;
}

function callEndpoint(endpoint: HttpEndpoint, request: HttpRequest): Promise<HttpReply | undefined> {
  try {
    const reply = endpoint(request);
    return reply instanceof Promise ? reply : Promise.resolve(reply);
  } catch (error) {
    return Promise.reject(error);
  }
}
