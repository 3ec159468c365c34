// Entry `trivium/express`: mounts an agent in Express 4 and 5, and in whatever else calls `(req, res, next)`.
import type { NodeListener } from "../binding/http/node-listener.js";
import { assertOptions } from "../protocol/check/rules.js";
import { mountRule } from "../server/mount-rules.js";
import type { MountOptions } from "../server/mounting.js";
import { type AgentSource, createAgentLoader } from "./source.js";

export type { NodeListener } from "../binding/http/node-listener.js";
export type { MountOptions } from "../server/mounting.js";
export type { AgentSource } from "./source.js";

/**
 * Mounts an agent in Express 4 or 5. Body parsers may come before or after it. Requests for other paths pass to `next`;
 * if the agent cannot be created, `next` gets the error. Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const app = express();
 * app.use("/agents/weather", expressAgent(createAgent({ card, agent })));
 * app.listen(8080);
 * ```
 */
export function expressAgent(agent: AgentSource, options: MountOptions = {}): NodeListener {
  assertOptions("expressAgent()", options, mountRule);
  const loadAgent = createAgentLoader("expressAgent()", agent);
  let listener: NodeListener | undefined;
  return (req, res, next) => {
    if (listener !== undefined) {
      listener(req, res, next);
      return;
    }
    loadAgent().then(
      (mountedAgent) => {
        listener ??= mountedAgent.nodeListener(options);
        listener(req, res, next);
      },
      (error: unknown) => next?.(error),
    );
  };
}
