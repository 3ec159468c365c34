import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../support/http-agent.js";

/** A request received by an authorization server. */
export interface ServerRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly form: Readonly<Record<string, string>>;
  /** Settles when the caller closes the connection. */
  readonly closed: Promise<void>;
}

/** JSON to answer with, or a function that writes the response itself. */
export type Answer = { readonly status?: number; readonly json: unknown } | ((response: ServerResponse) => void);

export interface AuthorizationServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ServerRequest[];
  /** Resolves when this many requests have arrived in all. */
  received(count: number): Promise<void>;
}

/** Starts a real server on its own port that gives the configured answers. */
export async function authorizationServer(
  answer: (request: ServerRequest, place: number) => Answer | Promise<Answer>,
): Promise<AuthorizationServer> {
  const requests: ServerRequest[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer(async (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const closed = new Promise<void>((resolve) => response.on("close", resolve));
    const form = Object.fromEntries(new URLSearchParams(await text(incoming)));
    const request = { method, path, headers, form, closed };
    requests.push(request);
    for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
    const reply = await answer(request, requests.length);
    if (typeof reply === "function") reply(response);
    else
      response.writeHead(reply.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(reply.json));
  });
  const served = await serveHttp(server);
  return {
    url: served.url,
    requests,
    received: (count) =>
      requests.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** A successful token response. */
export function tokenAnswer(token: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { json: { access_token: token, token_type: "Bearer", expires_in: 3600, ...more } };
}

/** An error response of a token endpoint. */
export function errorAnswer(error: string, status = 400): Answer {
  return { status, json: { error } };
}
