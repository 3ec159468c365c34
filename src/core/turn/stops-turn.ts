import { sizeOfEvent, sizeOfMessage } from "../../protocol/check/size.js";
import type { AgentEvent } from "../../protocol/events.js";
import type { TaskStatusUpdateEvent } from "../../protocol/model.js";
import { isStop } from "../../protocol/states.js";

const smallBytes = 64 << 10;

/**
 * Whether a turn releases its memory after an event: a reply, a status at which it ends or waits for its caller, or
 * `park`. False for an event that is larger than both 64 KiB and its task.
 */
export function stopsTurn(event: AgentEvent, taskBytes: number): boolean {
  try {
    const bytes = sizeOfStop(event);
    return bytes !== undefined && bytes <= Math.max(smallBytes, taskBytes);
  } catch {
    // Not an event: it is refused when it is accepted.
    return true;
  }
}

/** Whether an event is the whole answer where there is no task yet. */
export function isReply(event: AgentEvent): boolean {
  if (event?.$typeName === "lf.a2a.v1.StreamResponse") return event.payload.case === "message";
  return event?.$typeName === "lf.a2a.v1.Message";
}

/** Size of an event after which its turn releases memory; `undefined` for any other. */
function sizeOfStop(event: AgentEvent): number | undefined {
  switch (event.$typeName) {
    case "lf.a2a.v1.Message":
      return sizeOfMessage(event);
    case "lf.a2a.v1.TaskStatusUpdateEvent":
      return sizeOfStatus(event);
    case "lf.a2a.v1.StreamResponse":
      if (event.payload.case === "message") return sizeOfMessage(event.payload.value);
      return event.payload.case === "statusUpdate" ? sizeOfStatus(event.payload.value) : undefined;
    case "trivium.Park":
      return 0;
    default:
      return undefined;
  }
}

function sizeOfStatus(value: TaskStatusUpdateEvent): number | undefined {
  if (value.status === undefined || !isStop(value.status.state)) return undefined;
  return sizeOfEvent({ $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value } });
}
