import { Readable } from "node:stream";
import type { Context, Middleware } from "koa";
import type { HttpEndpoint, HttpReply } from "../binding/http/http.js";
import { mount } from "../binding/http/mount.js";
import { parsedBodyOf } from "../binding/http/node-body.js";
import { NodeRequest } from "../binding/http/node-request.js";
import { namesTwoHosts, twoHosts } from "../binding/http/one-host.js";
import { type CallTimes, defaultListenerLimits } from "../binding/listen/connection.js";

export interface KoaMiddlewareOptions {
  /** Path of the endpoint, relative to what the app already cut off. Default: `/`. */
  readonly path?: string | undefined;
  /** The time limits of request bodies. Default: the listener's. */
  readonly times?: CallTimes | undefined;
}

/**
 * Serves an endpoint in a Koa app; other paths go on to `next`. Mount it before any body parser. A parsed body is used
 * as it is; a body that was read but not kept is an internal error.
 */
export function koaMiddleware(endpoint: HttpEndpoint, options: KoaMiddlewareOptions = {}): Middleware {
  const { path = "/", times = defaultListenerLimits } = options;
  const mounted = mount(path, endpoint);
  return async (ctx, next) => {
    const target = { path: ctx.path, query: ctx.querystring };
    const parsed = parsedBodyOf(ctx.request);
    const reply = namesTwoHosts(ctx.req)
      ? twoHosts
      : await mounted(new NodeRequest(ctx.req, ctx.res, { ...target, times, parsed }));
    if (reply === undefined) await next();
    else give(ctx, reply);
  };
}

function give(ctx: Context, { status, headers, body }: HttpReply): void {
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  if (body === undefined) ctx.body = null;
  else if (typeof body === "string") ctx.body = body;
  else if (body instanceof Uint8Array) ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  else ctx.body = Readable.from(body, { objectMode: true, highWaterMark: 1 });
  // Set after the body, which sets a status of its own; its type must not replace the endpoint's.
  ctx.status = status;
}
