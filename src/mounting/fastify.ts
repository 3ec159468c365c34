// Entry `trivium/fastify`: mounts an agent in Fastify 5 as a plugin.
import type { IncomingMessage, ServerResponse } from "node:http";
import { firstSegments, trimmed } from "../binding/http/mount-path.js";
import { type AgentSource, agentOf } from "./source.js";

export type { AgentSource } from "./source.js";

/** What the plugin uses of Fastify. */
export interface FastifyScope {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: FastifyCall, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  all(path: string, handler: (request: FastifyCall, reply: FastifyAnswer) => void): unknown;
  addHook(name: "preClose", hook: () => Promise<void>): unknown;
}

/** What the plugin uses of a Fastify request. */
export interface FastifyCall {
  readonly raw: IncomingMessage;
}

/** What the plugin uses of a Fastify reply. */
export interface FastifyAnswer {
  readonly raw: ServerResponse;
  getHeaders(): Readonly<Record<string, string | number | readonly string[] | undefined>>;
  callNotFound(): unknown;
  send(error: unknown): unknown;
}

/**
 * A Fastify plugin: `app.register(fastifyAgent(createAgent(…)), { prefix: "/agents/weather" })`. The agent reads bodies
 * itself, whatever parsers the app has, and replies on the socket: hooks up to `preHandler` run before it, `onSend` does
 * not. It is closed when the app closes.
 */
export function fastifyAgent(agent: AgentSource): (scope: FastifyScope) => Promise<void> {
  const made = agentOf(agent);
  return async (scope) => {
    const known = await made();
    const pattern = trimmed(scope.prefix);
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    const answer = (request: FastifyCall, reply: FastifyAnswer): void => {
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      // The prefix may have parameters, so that only the request knows the path.
      const basePath = firstSegments(request.raw.url?.replace(/[?#].*/, "") ?? "", pattern);
      known.nodeListener({ basePath, request })(request.raw, reply.raw, () => reply.callNotFound());
    };
    scope.all("/", answer);
    scope.all("/*", answer);
    scope.addHook("preClose", () => known.close());
  };
}
