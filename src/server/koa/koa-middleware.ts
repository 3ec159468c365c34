import type { IncomingMessage, ServerResponse } from "node:http";
import { conflictingHosts, hasConflictingHosts } from "../../binding/http/conflicting-host.js";
import type { HttpEndpoint, HttpReply } from "../../binding/http/http.js";
import { toMountedPath } from "../../binding/http/mount.js";
import type { HandlerOptions } from "../../binding/http/node-listener.js";
import { writeReply } from "../../binding/http/node-reply.js";
import { NodeRequest, splitTarget } from "../../binding/http/node-request.js";
import { type CallTimes, defaultListenerLimits } from "../../binding/listen/connection.js";

/** The part of Koa's context that the middleware uses. Programs without Koa do not need its types. */
export interface KoaCall {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: object;
  readonly path: string;
  readonly querystring: string;
  readonly originalUrl: string;
  status: number;
  body: unknown;
  respond?: boolean | undefined;
  set(name: string, value: string): void;
}

/** A Koa middleware: `app.use(await agent.koa())`. */
export type KoaMiddleware = (ctx: KoaCall, next: () => Promise<unknown>) => Promise<void>;

/**
 * Serves an endpoint in a Koa app; other paths are passed to `next`. Mount it before any body parser. A parsed body is used
 * as it is; a body that was read but not kept is an internal error.
 */
export function koaMiddleware(endpoint: HttpEndpoint, options: HandlerOptions = {}): KoaMiddleware {
  const { basePath, request, times = defaultListenerLimits, explainMiss } = options;
  const replyTo = (ctx: KoaCall, original: string): ReturnType<HttpEndpoint> => {
    if (hasConflictingHosts(ctx.req)) return conflictingHosts;
    // `koa-mount` cuts its path off `ctx.path` alone.
    const mounted = toMountedPath(ctx.path, original, basePath);
    if (mounted === undefined) return undefined;
    const target = { ...mounted, query: ctx.querystring, native: request ?? ctx };
    return endpoint(new NodeRequest(ctx.req, ctx.res, { ...target, times, parsedBody: ctx.request }));
  };
  return async (ctx, next) => {
    const original = splitTarget(ctx.originalUrl).path;
    const reply = (await replyTo(ctx, original)) ?? (isRouted(ctx) ? explainMiss?.(original) : undefined);
    if (reply === undefined) await next();
    else give(ctx, reply, times);
  };
}

/** Whether a router chose the middleware by a route of its own: what it does not answer, nothing else will. */
function isRouted(ctx: object): boolean {
  return "_matchedRoute" in ctx && ctx._matchedRoute !== undefined;
}

function give(ctx: KoaCall, reply: HttpReply, times: CallTimes): void {
  const { status, headers, body } = reply;
  if (typeof body === "object" && Symbol.asyncIterator in body) {
    // Koa would report each reader who leaves as an error of the app.
    ctx.respond = false;
    writeReply(ctx.req, ctx.res, reply, times);
    return;
  }
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  if (body === undefined) ctx.body = null;
  else if (typeof body === "string") ctx.body = body;
  else ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // Set after the body, which sets a status of its own; its type must not replace the endpoint's.
  ctx.status = status;
}
