import type { JsonObject } from "@bufbuild/protobuf";
import { messageIdOf } from "../v0.3/json/message-id.js";

/**
 * Returns a function that assigns ids to the messages of a task, which have none in 0.1. The ids are the same on every
 * read, and a message keeps its id when it moves from the status to the history. Identical messages get distinct ids.
 */
export function createMessageIds(taskId: string): (message: JsonObject) => string {
  const counts = new Map<string, number>();
  return ({ role = null, parts = null }) => {
    const id = messageIdOf({ taskId, role, parts });
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  };
}
