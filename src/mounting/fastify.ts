// Entry `trivium/fastify`: mounts an agent in Fastify 5 as a plugin.
import type { IncomingMessage, ServerResponse } from "node:http";
import { firstSegments } from "../binding/http/mount.js";
import { trimSlashes } from "../protocol/http-routes.js";
import { type AgentSource, createAgentLoader } from "./source.js";

export type { AgentSource } from "./source.js";

/** The part of Fastify that the plugin uses. */
export interface FastifyScope {
  /** The path of the plugin. */
  readonly prefix: string;
  /** Called because the agent reads bodies itself. */
  removeAllContentTypeParsers(): unknown;
  /** Accepts every content type. */
  addContentTypeParser(
    type: string,
    parser: (request: FastifyCall, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  /** The route of the agent. */
  all(path: string, handler: (request: FastifyCall, reply: FastifyAnswer) => void): unknown;
  /** Closes the agent with the app. */
  addHook(name: "preClose", hook: () => Promise<void>): unknown;
}

/** The part of a Fastify request that the plugin uses. */
export interface FastifyCall {
  /** The request of Node. */
  readonly raw: IncomingMessage;
}

/** The part of a Fastify reply that the plugin uses. */
export interface FastifyAnswer {
  /** The reply of Node. */
  readonly raw: ServerResponse;
  /** Headers that hooks have set. */
  getHeaders(): Readonly<Record<string, string | number | readonly string[] | undefined>>;
  /** Answers a request that is not the agent's. */
  callNotFound(): unknown;
  /** Answers with an error of the app. */
  send(error: unknown): unknown;
}

/**
 * Creates a plugin for Fastify 5. The agent reads bodies itself, whatever parsers the app has, and writes to the
 * socket: hooks up to `preHandler` run before it, and `onSend` does not run. The agent is closed when the app closes.
 * Throws a `TypeError` for anything but an agent or a function.
 *
 * @example
 * ```ts
 * const app = fastify();
 * await app.register(fastifyAgent(createAgent({ card, agent })), { prefix: "/agents/weather" });
 * await app.listen({ port: 8080 });
 * ```
 */
export function fastifyAgent(agent: AgentSource): (scope: FastifyScope) => Promise<void> {
  const loadAgent = createAgentLoader("fastifyAgent()", agent);
  return async (scope) => {
    const mountedAgent = await loadAgent();
    const pattern = trimSlashes(scope.prefix);
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    const answer = (request: FastifyCall, reply: FastifyAnswer): void => {
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      // The prefix may have parameters, so that only the request knows the path.
      const basePath = firstSegments(request.raw.url?.replace(/[?#].*/, "") ?? "", pattern);
      mountedAgent.nodeListener({ basePath, request })(request.raw, reply.raw, () => reply.callNotFound());
    };
    scope.all("/", answer);
    scope.all("/*", answer);
    scope.addHook("preClose", () => mountedAgent.close());
  };
}
