import { expect } from "vitest";
import { type A2AError, type ErrorCode, errorTable } from "../../src/protocol/errors.js";
import { type HttpAnswer, httpOutcome, rpcOutcome } from "./raw-http.js";
import { expectNoInternals } from "./raw-wire.js";

/** One URL of an agent that accepts JSON by POST: SendMessage over one binding. */
export interface HttpEnd {
  readonly name: string;
  readonly target: string;
  /** Body of a valid request. */
  readonly body: string;
  /** The error for a body of another media type. */
  readonly wrongType: ErrorCode;
  /** Returns the error of an answer after checking its form and status. */
  errorOf(answer: HttpAnswer): A2AError | undefined;
}

const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } };
const { message } = params;
/** Statuses that an answer over JSON-RPC keeps; every other answer is 200. */
const rpcStatuses: ReadonlySet<number> = new Set([401, 403, 405, 413, 415, 503]);

/** The JSON bindings at their URLs. JSON-RPC answers a request without a readable id with null. */
export const httpEnds: readonly HttpEnd[] = [
  {
    name: "JSON-RPC",
    target: "/json-rpc",
    body: JSON.stringify({ jsonrpc: "2.0", id: null, method: "SendMessage", params }),
    errorOf: (answer) =>
      checkAnswer(answer, rpcOutcome(answer, null).error, (http, { code }) => {
        // This binding uses the error only for a body's media type, and keeps its status.
        if (code === "contentTypeNotSupported") return 415;
        return rpcStatuses.has(http) ? http : 200;
      }),
    wrongType: "contentTypeNotSupported",
  },
  {
    name: "HTTP+JSON",
    target: "/http-json/message:send",
    body: JSON.stringify({ message }),
    errorOf: (answer) => checkAnswer(answer, httpOutcome(answer).error, (http) => http),
    wrongType: "unsupportedMediaType",
  },
];

function checkAnswer(
  answer: HttpAnswer,
  error: A2AError | undefined,
  statusOf: (http: number, error: A2AError) => number,
): A2AError | undefined {
  expectNoInternals(answer.text);
  expect(answer.status).toBe(error === undefined ? 200 : statusOf(errorTable[error.code].http, error));
  return error;
}

/** Connect, whose errors have their own form. */
export const connectTarget = "/lf.a2a.v1.A2AService/SendMessage";
export const connectBody: string = JSON.stringify({ message });
