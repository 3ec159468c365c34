import type { CallOptions } from "../../protocol/context.js";
import type { Operations } from "../../protocol/operations.js";

type Transport = Operations<CallOptions>;

/** More messages than any history has. */
const wholeHistory = 1_000_000;

/**
 * A transport to an agent of 0.2 or 0.3. What a task without a history length is given with, these versions leave to the
 * server, and some give no history at all then, all of it for a length of 0, or all of it always.
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
