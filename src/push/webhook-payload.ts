import type { PushRegistration } from "../core/ports.js";
import type { StreamResponse } from "../protocol/model.js";
import { responseUnderName } from "../protocol/task-names.js";
import type { PushAdapter } from "../version/codec.js";

/** What is brought to a webhook, as the version has it in which the webhook was registered. */
export interface WebhookPayload {
  readonly body: string;
  readonly mediaType: string;
  /** Names of the headers that the token goes by. */
  readonly tokenHeaders: readonly string[];
}

/** Writes a payload. Throws for what the version cannot express. */
export function writeWebhookPayload(
  adapter: PushAdapter,
  response: StreamResponse,
  { taskName }: PushRegistration,
): WebhookPayload {
  const delivered = taskName === undefined ? response : responseUnderName(response, taskName);
  const { mediaType, tokenHeaders } = adapter;
  return { body: adapter.write({ response: delivered }), mediaType, tokenHeaders };
}
