import type { PushRegistration } from "../core/ports.js";
import type { StreamResponse } from "../protocol/model.js";
import { responseUnderName } from "../protocol/task-names.js";
import type { PushAdapter } from "../version/codec.js";

/** A payload in the version with which the webhook was registered. */
export interface WebhookPayload {
  readonly body: string;
  readonly mediaType: string;
  /** Headers that carry the token. */
  readonly tokenHeaders: readonly string[];
  /** Headers that carry the trace of the call. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Encodes a payload. Throws for content that the version cannot express. */
export function writeWebhookPayload(
  adapter: PushAdapter,
  response: StreamResponse,
  { taskName }: PushRegistration,
): WebhookPayload {
  const event = taskName === undefined ? response : responseUnderName(response, taskName);
  const { mediaType, tokenHeaders } = adapter;
  return { body: adapter.write({ response: event }), mediaType, tokenHeaders };
}
