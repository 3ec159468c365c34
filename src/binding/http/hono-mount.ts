import { isObject } from "../../protocol/kinds.js";
import { splitTarget } from "./node-request.js";

// Hono's `app.mount(path, handler)` cuts its path off the request and calls `handler(request, env, executionContext)`.
// The request does not show what was cut off. On Node, `env` has the request of Node's server, which does.

/** A call by Hono's `mount()`. `original`: the path before anything was cut off, if it is known. */
interface HonoCall {
  readonly original: string | undefined;
}

/**
 * What Hono's `mount()` reveals about a call; `undefined` for other callers. Tried with Hono 4.13: outside of
 * workers it passes an execution context that is undefined, which no runtime does.
 */
export function honoCall(more: readonly unknown[]): HonoCall | undefined {
  if (more.length !== 2) return undefined;
  const [env, executionContext] = more;
  const original = urlOfNode(env);
  if (original === undefined) return executionContext === undefined ? { original } : undefined;
  return { original: splitTarget(original).path };
}

function urlOfNode(env: unknown): string | undefined {
  if (!isObject(env) || !("incoming" in env) || !isObject(env.incoming) || !("url" in env.incoming)) return undefined;
  const { url } = env.incoming;
  return typeof url === "string" ? url : undefined;
}
