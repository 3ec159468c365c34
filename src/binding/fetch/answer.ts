import type { JsonValue } from "@bufbuild/protobuf";
import type { EventSourceMessage } from "eventsource-parser";
import { noop } from "../../protocol/async/noop.js";
import { A2AError, CallError, changeError, errorCodeFromHttp, errorTable } from "../../protocol/errors.js";
import { type AnswerBody, type HttpAnswer, readRetryAfter, readTextWithin } from "../../protocol/fetch.js";
import { eventStreamType, readMediaType } from "../http/media-type.js";
import type { UnreadAnswer } from "./call.js";
import { readEventStream } from "./event-stream-reader.js";
import { assertValueLimit, minCheckedLength } from "./value-limit.js";

// Reads responses of an agent within limits.

/** How large a body may be. */
interface BodyLimit {
  readonly maxBytes: number;
  /** Name of the limit for the error. Default: none. */
  readonly name?: string | undefined;
}

/** Reads the whole body of a reply as text, as `readText` does. */
export function readReply(answer: UnreadAnswer, replyMaxBytes: number): Promise<string> {
  return readText(answer, { maxBytes: replyMaxBytes, name: "replyMaxBytes" });
}

/**
 * Reads the whole body as text. An event stream is cancelled unread: it throws, or gives `""` if the status is an
 * error. Throws `contentTooLarge` over the limit.
 */
export async function readText(answer: UnreadAnswer, limit: BodyLimit): Promise<string> {
  const { maxBytes } = limit;
  const { response, failure } = answer;
  try {
    if (isEventStream(answer)) {
      leave(response.body);
      if (!response.ok) return "";
      throw new A2AError("invalidAgentResponse", "the agent answered a unary call with an event stream");
    }
    const length = response.headers.get("content-length");
    if (Number(length) > maxBytes) {
      leave(response.body);
      throw tooLarge(limit);
    }
    // The declared length counts the bytes sent, so it does not bound a compressed body.
    const isBounded = length !== null && !response.headers.has("content-encoding");
    const text =
      isBounded || response.body === null
        ? await response.text()
        : await readTextWithin(response.body.getReader(), maxBytes, () => tooLarge(limit));
    if (text.length >= minCheckedLength) await assertValueLimit([text], maxBytes);
    return text;
  } catch (cause) {
    throw failure(cause);
  }
}

function tooLarge({ maxBytes, name }: BodyLimit): A2AError {
  const message = `the agent's answer is over the limit of ${maxBytes} bytes${name === undefined ? "" : ` (${name})`}`;
  return new A2AError("contentTooLarge", message, { metadata: name === undefined ? {} : { limit: name } });
}

// Frees the connection of a response that is not read to its end.
function leave(body: AnswerBody | null): void {
  body?.cancel().then(undefined, noop);
}

/** Parses JSON. Returns `undefined` for an empty body or invalid JSON. */
export function parseOrNothing(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Parses a body that must be JSON or empty. Throws `invalidAgentResponse`. */
export function parseAnswer(text: string): JsonValue | undefined {
  const json = parseOrNothing(text);
  if (json === undefined && text.trim() !== "") {
    // The text is left out: a reader of the error may not have access to that address.
    throw new A2AError("invalidAgentResponse", "the agent's answer is not JSON");
  }
  return json;
}

export function isEventStream({ response }: UnreadAnswer): boolean {
  return readMediaType(response.headers.get("content-type") ?? undefined) === eventStreamType;
}

/** Yields the events of a streamed response, in batches as they arrive. */
export function readEvents(
  { response, failure }: UnreadAnswer,
  replyMaxBytes: number,
): AsyncGenerator<readonly EventSourceMessage[], void, undefined> {
  const body = response.body ?? new ReadableStream<Uint8Array>({ start: (empty) => empty.close() });
  return readEventStream(body, replyMaxBytes, failure);
}

/** Adds what only the headers of the response carry: the challenge and the retry delay. */
export function withAnswerHeaders(error: A2AError, headers: HttpAnswer["headers"]): A2AError {
  const challenge = error.challenge ?? headers.get("www-authenticate") ?? undefined;
  const retryAfterMs = error.retryAfterMs ?? readRetryAfter(headers.get("retry-after"), Date.now());
  if (challenge === error.challenge && retryAfterMs === error.retryAfterMs) return error;
  return changeError(error, { challenge, retryAfterMs });
}

/** Replaces a code that JSON-RPC has for any error by that of the HTTP status, if JSON-RPC sends the status on purpose. */
export function withStatus(error: A2AError, { response: { status } }: UnreadAnswer): A2AError {
  if (error.code !== "internalError" && error.code !== "invalidRequest") return error;
  const code = errorCodeFromHttp(status);
  return errorTable[code].keepsHttpStatus ? changeError(error, { code }) : error;
}

/** Makes the error of a response that has only a status. `metadata.httpStatus` marks it as not written by an agent. */
export function errorFromHttpStatus({ response: { status, headers } }: UnreadAnswer): A2AError {
  // Nothing shows that a server that is no agent means the parameters of the call.
  const code = status === 400 ? "invalidAgentResponse" : errorCodeFromHttp(status, "invalidAgentResponse");
  const target = status >= 300 && status < 400 ? redirectTarget(headers.get("location")) : undefined;
  const advice = target === undefined ? "" : `, a redirect to ${target}: list that URL in the card`;
  return new CallError(code, `the agent answered with HTTP status ${status}${advice}`, {
    metadata: { httpStatus: String(status) },
  });
}

const longestTarget = 300;

/** The target of a redirect. Leaves out the query and credentials, which may be secret. */
function redirectTarget(location: string | null): string | undefined {
  if (location === null) return undefined;
  const url = URL.parse(location);
  const place = url === null ? location.replace(/[?#].*$/s, "") : `${url.protocol}//${url.host}${url.pathname}`;
  return place.slice(0, longestTarget);
}
