import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "./model.js";

// The extensions of the protocol that this framework defines (spec 4.6). They change nothing for callers that do not
// activate them.

/** The same message, sent again, attaches to what it started the first time. */
export const idempotentSendExtension = "urn:trivium:extension:idempotent-send:v1";

/** Each event of a stream carries its id in its own metadata, for bindings that have no other place for it. */
export const resumeExtension = "urn:trivium:extension:resume:v1";

/** The id that an event carries in its metadata; `undefined` when it carries none. */
export function eventIdOf({ payload }: StreamResponse): string | undefined {
  if (payload.case === undefined || payload.case === "message") return undefined;
  const id = payload.value.metadata?.[resumeExtension];
  return typeof id === "string" ? id : undefined;
}

/** A copy of an event that carries its id. A message has none and stays as it is. */
export function withEventId(response: StreamResponse, id: string): StreamResponse {
  const { payload } = response;
  if (payload.case === undefined || payload.case === "message") return response;
  return withMetadata(response, { ...payload.value.metadata, [resumeExtension]: id });
}

/** The event as it was before it was given its id: a copy, or the same when it carries none. */
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
