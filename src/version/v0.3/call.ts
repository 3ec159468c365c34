import type { CallOptions } from "../../protocol/context.js";
import type { Operations } from "../../protocol/operations.js";

type Transport = Operations<CallOptions>;

/** A length that covers any history. */
const wholeHistory = 1_000_000;

/**
 * A transport to an agent of 0.2 or 0.3, which always requests a history length and truncates the result. Without a
 * length these versions leave the history to the server, and some servers then send none. Some send all of it for a
 * length of 0, and some always do.
 */
export function callV03(transport: Transport): Transport {
  return {
    ...transport,
    async getTask(request, options) {
      const { historyLength = wholeHistory } = request;
      const task = await transport.getTask({ ...request, historyLength }, options);
      const surplus = task.history.length - historyLength;
      return surplus > 0 ? { ...task, history: task.history.slice(surplus) } : task;
    },
  };
}
