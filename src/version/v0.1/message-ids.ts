import type { JsonObject } from "@bufbuild/protobuf";
import { messageIdOf } from "../v0.3/json/message-id.js";

/**
 * Gives ids to the messages of a task, which have none in 0.1. They are the same each time the task is read, and a message
 * keeps its own when it moves from the status to the history. Of messages that are alike each gets one of its own.
 */
export function createMessageIds(taskId: string): (message: JsonObject) => string {
  const seen = new Map<string, number>();
  return ({ role = null, parts = null }) => {
    const id = messageIdOf({ taskId, role, parts });
    const count = seen.get(id) ?? 0;
    seen.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  };
}
