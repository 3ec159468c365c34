import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "./model.js";

// The protocol extensions that this framework defines (spec 4.6). They change nothing for callers that do not request
// them.

/** A repeated send of the same message attaches to the outcome of the first. */
export const idempotentSendExtension = "urn:trivium:extension:idempotent-send:v1";

/** Every stream event carries its id in its own metadata, for bindings without another place for it. */
export const resumeExtension = "urn:trivium:extension:resume:v1";

/** Returns the id in an event's metadata, or `undefined`. */
export function readEventId({ payload }: StreamResponse): string | undefined {
  if (payload.case === undefined || payload.case === "message") return undefined;
  const id = payload.value.metadata?.[resumeExtension];
  return typeof id === "string" ? id : undefined;
}

/** Copies an event with its id added. A message takes no id and is returned unchanged. */
export function withEventId(response: StreamResponse, id: string): StreamResponse {
  const { payload } = response;
  if (payload.case === undefined || payload.case === "message") return response;
  return withMetadata(response, { ...payload.value.metadata, [resumeExtension]: id });
}

/** Returns the event without its id: a copy, or the same event if it has none. */
export function withoutEventId(response: StreamResponse): StreamResponse {
  const { payload } = response;
  if (payload.case === undefined || payload.case === "message") return response;
  if (payload.value.metadata?.[resumeExtension] === undefined) return response;
  const { [resumeExtension]: _, ...rest } = payload.value.metadata;
  return withMetadata(response, isEmpty(rest) ? undefined : rest);
}

function isEmpty(json: JsonObject): boolean {
  for (const _ in json) return false;
  return true;
}

function withMetadata(response: StreamResponse, metadata: JsonObject | undefined): StreamResponse {
  const { payload } = response;
  switch (payload.case) {
    case "task":
      return { ...response, payload: { case: payload.case, value: { ...payload.value, metadata } } };
    case "statusUpdate":
      return { ...response, payload: { case: payload.case, value: { ...payload.value, metadata } } };
    case "artifactUpdate":
      return { ...response, payload: { case: payload.case, value: { ...payload.value, metadata } } };
    default:
      return response;
  }
}
