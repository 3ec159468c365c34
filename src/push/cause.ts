import type { TaskStore } from "../core/ports.js";
import type { TraceContext } from "../protocol/telemetry/trace.js";

/** What caused the last turn of a task, in its trace: the wake that started it, or the send of its message. */
export async function causeOfTurn(
  tasks: Pick<TaskStore, "heads" | "recordsAt">,
  key: number,
): Promise<TraceContext | undefined> {
  const [head] = await tasks.heads([key]);
  if (head === undefined) return undefined;
  const start = (await tasks.recordsAt(key, [head.turnSeq])).find(({ seq }) => seq === head.turnSeq);
  const { trace, message = head.turnSeq + 1 } = start?.kind === "turnStarted" ? start : {};
  if (trace !== undefined) return trace;
  const messageRecord = (await tasks.recordsAt(key, [message])).find(({ seq }) => seq === message);
  return messageRecord?.kind === "message" ? messageRecord.context?.trace : undefined;
}
