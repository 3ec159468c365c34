import type { IncomingMessage, ServerResponse } from "node:http";

/** What the middleware uses of Koa's context. Koa's types are no dependency of a program that does not use it. */
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
