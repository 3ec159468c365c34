import type { IncomingMessage, ServerResponse } from "node:http";
import { loadPackage } from "../../protocol/load-package.js";
import type { Logger } from "../../protocol/logger.js";
import type { ServeOptions } from "../options.js";
import type { Readiness } from "../readiness.js";

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface FallbackOptions {
  readonly app: ServeOptions["app"];
  readonly readiness: Readiness;
  /** Whether a request came through a proxy that is not trusted. */
  readonly ignoresForwarded: (request: IncomingMessage) => boolean;
  readonly logger: Logger;
  /** Says what a request looked for, for callers of an unknown path. */
  readonly explainMissing: (request: IncomingMessage, response: ServerResponse) => Promise<string | undefined>;
}

/**
 * Answers requests outside the protocol: `/healthz`, `/readyz`, and the user's own Koa app. Koa is loaded with the
 * first such request, so that an agent that is only called does not pay for it.
 */
export function createFallback(options: FallbackOptions): Handle {
  let loading: Promise<Handle> | undefined;
  return (request, response) => {
    loading ??= load(options);
    loading.then(
      (handle) => handle(request, response),
      (error: unknown) => {
        options.logger.error({ err: error }, "the app could not be loaded");
        response.statusCode = 500;
        response.end("internal error\n");
      },
    );
  };
}

/** Loads the packages. In a server that is not bundled, the first request that no agent answers loads them. */
export const loadKoa = () => loadPackage("koa", () => Promise.all([import("koa"), import("@koa/router")]));

async function load({ app, readiness, ignoresForwarded, explainMissing }: FallbackOptions): Promise<Handle> {
  const [{ default: Koa }, { default: Router }] = await loadKoa();
  const koa = new Koa();
  // Every method that Node knows: an unknown path is then 404, not 501.
  const health = new Router({ methods: process.getBuiltinModule("node:http").METHODS });
  health.get("/healthz", (ctx) => {
    ctx.body = { status: "ok" };
  });
  health.get("/readyz", (ctx) => {
    const { status } = readiness;
    ctx.status = status === "ready" ? 200 : 503;
    ctx.body = ignoresForwarded(ctx.req) ? { status, forwarded: "ignored" } : { status };
  });
  koa.use(health.routes()).use(health.allowedMethods());
  if (app === undefined) {
    koa.use(async (ctx) => {
      const text = await explainMissing(ctx.req, ctx.res);
      if (text === undefined) return;
      ctx.status = 404;
      // Callers may see different agents.
      ctx.set("Cache-Control", "no-store");
      ctx.type = "text/plain";
      ctx.body = `${text}\n`;
    });
    return koa.callback();
  }
  const theirs = app.callback() as Handle;
  koa.use((ctx) => {
    // The app writes the response itself, with its own error handling.
    ctx.respond = false;
    return theirs(ctx.req, ctx.res);
  });
  return koa.callback();
}
