import type { ServerContext } from "../protocol/context.js";
import type { Operations } from "../protocol/operations.js";
import type { CallAdapter } from "./server-call.js";
import type { Service } from "./service.js";

// The version's view of a handler is built once for each adapter.
const handlers = new WeakMap<Operations<ServerContext>, WeakMap<object, Operations<ServerContext>>>();

/** Returns the handler in the form that callers of a version expect. */
export function handlerFor(
  adapter: Pick<CallAdapter, "serve">,
  service: Pick<Service, "handler" | "taskNames">,
): Operations<ServerContext> {
  if (adapter.serve === undefined) return service.handler;
  const byAdapter = handlers.get(service.handler) ?? new WeakMap<object, Operations<ServerContext>>();
  handlers.set(service.handler, byAdapter);
  const handler = byAdapter.get(adapter) ?? adapter.serve(service.handler, service.taskNames);
  byAdapter.set(adapter, handler);
  return handler;
}
