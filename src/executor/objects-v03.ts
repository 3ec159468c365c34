import type { JsonObject } from "@bufbuild/protobuf";
import { readJson } from "../protocol/codec/json/reader.js";
import type { A2AError } from "../protocol/errors.js";
import { isRecord } from "../protocol/kinds.js";
import { type StreamResponse, StreamResponseSchema } from "../protocol/model.js";
import { violationText } from "../protocol/violations.js";
import { upgradeEvent } from "../version/v0.3/json/upgrade.js";
import { messageToKindJson, taskToKindJson } from "../version/v0.3/json/write.js";
import { callContext } from "./call-context.js";
import { invalidEvent, type Json, type PublishedEvent, type SdkObjects } from "./objects.js";

// The SDK's objects of 0.3 are its JSON, so the codec of 0.3 reads and writes them.

export const objectsV03: SdkObjects = {
  endsOnReturn: false,
  advice: 'the executor failed before its first event: one of @a2a-js/sdk 1.x must not have { sdk: "0.3" }',

  requestContext({ turn, message, task, references }) {
    return {
      userMessage: messageToKindJson(message, "user"),
      taskId: turn.taskId,
      contextId: turn.contextId,
      task: task === undefined ? undefined : taskToKindJson(task),
      referenceTasks: message.referenceTaskIds.length === 0 ? undefined : references.map(taskToKindJson),
      context: callContext(turn),
    };
  },

  read(event): PublishedEvent {
    if (!isRecord(event) || "data" in event) throw invalidEventKind();
    const { payload } = readResponse(event);
    switch (payload.case) {
      case "message":
        return { kind: "message", message: payload.value };
      case "task":
        return { kind: "task", task: payload.value };
      case "statusUpdate":
        return { kind: "status", event: payload.value, final: event["final"] === true };
      case "artifactUpdate":
        return { kind: "artifact", event: payload.value };
      default:
        throw invalidEventKind();
    }
  },
};

function invalidEventKind(): A2AError {
  return invalidEvent(
    'the executor published a value that is not an event of @a2a-js/sdk 0.3: host an executor of 1.x without { sdk: "0.3" }',
  );
}

function readResponse(event: Json): StreamResponse {
  const json = upgradeEvent(toWireJson(event), { lenient: true, violations: [] });
  if (json === undefined) throw invalidEventKind();
  const { message, violations } = readJson(StreamResponseSchema, json, { lenient: true });
  const [violation] = violations;
  if (violation !== undefined)
    throw invalidEvent(`the executor published an event that cannot be read: ${violationText(violation)}`);
  return message;
}

// Removes `undefined` members, and calls `toJSON`.
function toWireJson(event: Json): JsonObject {
  try {
    return JSON.parse(JSON.stringify(event)) as JsonObject;
  } catch (error) {
    throw invalidEvent("the executor published an event that JSON cannot represent", error);
  }
}
