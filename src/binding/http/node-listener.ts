import { noop } from "../../protocol/async/noop.js";
import { type CallTimes, defaultListenerLimits } from "../listen/connection.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "./http.js";
import type { NodeIncoming } from "./node-body.js";
import { writeReply } from "./node-reply.js";
import { NodeRequest, type NodeResponse, splitTarget } from "./node-request.js";
import { namesTwoHosts, twoHosts } from "./one-host.js";

export interface NodeListenerOptions {
  /** The time limits of request bodies. Default: the listener's. */
  readonly times?: CallTimes | undefined;
  /** Called with the error of an endpoint that throws, which is a bug in the endpoint. Default: ignored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * A Node request listener. Calls `next`, as in Express, if the path is not the endpoint's; without `next` it replies
 * 404.
 */
export type NodeListener = (req: NodeIncoming, res: NodeResponse, next?: (error?: unknown) => void) => void;

const notFound: HttpReply = { status: 404, headers: { "Content-Type": "text/plain" }, body: "not found\n" };
const broken: HttpReply = { status: 500, headers: { "Content-Type": "text/plain" }, body: "internal error\n" };

/** Serves an endpoint with Node's `http`, `https` or `http2` server, or anything else that calls `(req, res, next)`. */
export function nodeListener(endpoint: HttpEndpoint, options: NodeListenerOptions = {}): NodeListener {
  const { times = defaultListenerLimits, onError } = options;
  return (req, res, next) => {
    // `close` reports a failed socket. Without this listener its error would end the process.
    res.on("error", noop);
    if (namesTwoHosts(req)) {
      writeReply(req, res, twoHosts, times.replyStallMs);
      return;
    }
    const { path, query } = splitTarget(req.url ?? "/");
    const write = (reply: HttpReply | undefined): void => {
      if (reply === undefined && next !== undefined) next();
      else writeReply(req, res, reply ?? notFound, times.replyStallMs);
    };
    const fail = (error: unknown): void => {
      onError?.(error);
      if (res.headersSent) res.destroy();
      else writeReply(req, res, broken, times.replyStallMs);
    };
    answered(endpoint, new NodeRequest(req, res, { path, query, times }))
      .then(write)
      .catch(fail);
  };
}

function answered(endpoint: HttpEndpoint, request: HttpRequest): Promise<HttpReply | undefined> {
  try {
    const reply = endpoint(request);
    return reply instanceof Promise ? reply : Promise.resolve(reply);
  } catch (error) {
    return Promise.reject(error);
  }
}
