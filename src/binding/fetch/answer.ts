import type { JsonValue } from "@bufbuild/protobuf";
import type { EventSourceMessage } from "eventsource-parser";
import { noop } from "../../protocol/async/noop.js";
import { A2AError, type ErrorCode } from "../../protocol/errors.js";
import type { AnswerBody, HttpAnswer } from "../../protocol/fetch.js";
import { eventStreamType, mediaTypeOf } from "../http/media-type.js";
import type { Incoming } from "./call.js";
import { readEventStream } from "./event-stream-reader.js";

// Reading what an agent answered, within limits.

/** The whole body as text. An event stream is none, however it goes on. */
export async function readText(incoming: Incoming, maxBytes: number): Promise<string> {
  const { response, failure } = incoming;
  try {
    if (isEventStream(incoming)) {
      leave(response.body);
      if (!response.ok) return "";
      throw new A2AError(
        "invalidAgentResponse",
        "the agent answered with an event stream where one reply was asked for",
      );
    }
    const length = response.headers.get("content-length");
    if (Number(length) > maxBytes) throw tooLarge(maxBytes, response.body);
    // The declared length is that of the bytes sent: of a compressed body it says nothing.
    if (length !== null && !response.headers.has("content-encoding")) return await response.text();
    return response.body === null ? "" : await readCounting(response.body, maxBytes);
  } catch (cause) {
    throw failure(cause);
  }
}

async function readCounting(body: AnswerBody, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes, reader);
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(maxBytes: number, rest: { cancel(): Promise<void> } | null): A2AError {
  leave(rest);
  return new A2AError("contentTooLarge", `the agent's answer is over the limit of ${maxBytes} bytes`);
}

// Frees the connection of an answer that is not read on.
function leave(rest: { cancel(): Promise<void> } | null): void {
  rest?.cancel().then(undefined, noop);
}

/** JSON of a body that may hold anything; `undefined` when it is empty or no JSON. */
export function parseOrNothing(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** JSON of a body that has to be JSON, or empty. Throws `invalidAgentResponse`. */
export function parseAnswer(text: string): JsonValue | undefined {
  const json = parseOrNothing(text);
  if (json === undefined && text.trim() !== "") {
    // The text is left out: a reader of the error need not have access to that address.
    throw new A2AError("invalidAgentResponse", "the agent's answer is no JSON");
  }
  return json;
}

export function isEventStream({ response }: Incoming): boolean {
  return mediaTypeOf(response.headers.get("content-type") ?? undefined) === eventStreamType;
}

/** The events of a stream's answer, as many at a time as came together. */
export function readEvents(
  { response, failure }: Incoming,
  eventMaxLength: number,
): AsyncGenerator<readonly EventSourceMessage[], void, undefined> {
  const body = response.body ?? new ReadableStream<Uint8Array>({ start: (empty) => empty.close() });
  return readEventStream(body, eventMaxLength, failure);
}

/** Adds to an error what only the headers of its answer say: the challenge, and when to ask again. */
export function withAnswerHeaders(error: A2AError, headers: HttpAnswer["headers"]): A2AError {
  const challenge = error.challenge ?? headers.get("www-authenticate") ?? undefined;
  const retryAfterMs = error.retryAfterMs ?? retryAfterOf(headers.get("retry-after"));
  if (challenge === error.challenge && retryAfterMs === error.retryAfterMs) return error;
  const { code, message, metadata, violations, cause } = error;
  return new A2AError(code, message, { cause, metadata, violations, challenge, retryAfterMs });
}

function retryAfterOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - Date.now());
}

const codesByHttpStatus: ReadonlyMap<number, ErrorCode> = new Map([
  [401, "unauthenticated"],
  [403, "permissionDenied"],
  [404, "methodNotFound"],
  [405, "methodNotAllowed"],
  [408, "requestTimeout"],
  [413, "contentTooLarge"],
  [415, "unsupportedMediaType"],
  [429, "resourceExhausted"],
  [500, "internalError"],
  [501, "methodNotFound"],
  [502, "unavailable"],
  [503, "unavailable"],
  [504, "deadlineExceeded"],
]);

const vague: ReadonlySet<ErrorCode> = new Set(["internalError", "invalidRequest"]);
/** Statuses that say more than a number does which stands for all that went wrong. */
const telling: ReadonlySet<number> = new Set([401, 403, 405, 413, 415, 429, 503]);

/** The error by the HTTP status, where its own code is not specific. */
export function withStatus(error: A2AError, { response: { status } }: Incoming): A2AError {
  const code = vague.has(error.code) && telling.has(status) ? codesByHttpStatus.get(status) : undefined;
  if (code === undefined) return error;
  const { metadata, violations, retryAfterMs } = error;
  return new A2AError(code, error.message, { metadata, violations, retryAfterMs });
}

/** The error of an answer with nothing but a status. `metadata.httpStatus` marks it, since no agent has said this. */
export function errorFromHttpStatus({ response: { status } }: Incoming): A2AError {
  const code = codesByHttpStatus.get(status) ?? "invalidAgentResponse";
  return new A2AError(code, `the agent answered with HTTP status ${status}`, {
    metadata: { httpStatus: String(status) },
  });
}
