import type { PushRegistration } from "../core/ports.js";
import type { StreamResponse } from "../protocol/model.js";
import { responseUnderName } from "../protocol/under-name.js";
import type { PushFace } from "../version/codec.js";

/** What is brought to a webhook, as the version has it in which the webhook was registered. */
export interface Letter {
  readonly body: string;
  readonly mediaType: string;
  /** Names of the headers that the token goes by. */
  readonly tokenHeaders: readonly string[];
}

/** Writes a letter. Throws for what the version cannot say. */
export function writeLetter(face: PushFace, response: StreamResponse, { taskName }: PushRegistration): Letter {
  const told = taskName === undefined ? response : responseUnderName(response, taskName);
  const { mediaType, tokenHeaders } = face;
  return { body: face.write({ response: told }), mediaType, tokenHeaders };
}
