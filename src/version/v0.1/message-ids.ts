import type { JsonObject } from "@bufbuild/protobuf";
import { messageIdOf } from "../v0.3/json/message-id.js";

/**
 * Returns a function that assigns ids to the messages of a task, which have none in 0.1. The ids are the same on every
 * read, and a message keeps its id when it moves from the status to the history. Identical messages get distinct ids.
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
