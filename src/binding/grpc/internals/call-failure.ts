import { type ChannelInterface, type StatusObject, status } from "@grpc/grpc-js";
import { replyTooLarge } from "../../../protocol/codec/reply-too-large.js";
import { type A2AError, CallError, ConnectionError } from "../../../protocol/errors.js";
import { errorFromStatus } from "../errors.js";
import type { RpcMethod } from "../method.js";

// Only the text and the peer of a status show whether grpc-js or the agent set it, and whether the request was sent.
// Tried with grpc-js 1.14.7. Costs nothing for a successful call. Without it, calls that were never sent would not be
// retried.

/** A call that ended with a status other than OK. */
export interface FailedCall {
  readonly channel: ChannelInterface;
  readonly method: RpcMethod;
  /** The address as the user wrote it. */
  readonly address: string;
  /** The call's peer, from `getPeer`. */
  readonly peer: string;
}

/**
 * Maps the status of a failed call to an error: a `ConnectionError` if grpc-js set the status, else the agent's own
 * error.
 */
export function callFailure(outcome: StatusObject, call: FailedCall): A2AError {
  // Once a connection has taken the call, the peer is its address. Before that it is the target or `unknown`.
  const isTaken = call.peer !== call.channel.getTarget() && call.peer !== "unknown";
  if (!isTaken && unconnectedStatuses.has(outcome.code)) {
    const isFinal = finalTexts.test(outcome.details);
    return new ConnectionError(`cannot reach ${call.address}: ${extractReason(outcome.details)}`, {
      written: false,
      isFinal,
    });
  }
  if (isTaken && isBreak(outcome)) {
    const written = outcome.details !== refusalText;
    return new ConnectionError(`the connection to ${call.address} broke: ${outcome.details}`, { written });
  }
  return readAnswerError(outcome, call.method);
}

/** Marks the HTTP response of a server that does not speak gRPC with `metadata.httpStatus`. */
function readAnswerError(outcome: StatusObject, method: RpcMethod): A2AError {
  const error = errorFromStatus(outcome, method);
  // grpc-js sets this status, also for a response that is not gRPC and whose first bytes read as a length.
  const [, maxBytes] = /^Received message .*larger than .*?(\d+)\)?$/.exec(outcome.details) ?? [];
  if (error.code === "resourceExhausted" && maxBytes !== undefined) {
    const cause = new Error(outcome.details);
    const message = `the agent's answer is over the limit of ${maxBytes} bytes (replyMaxBytes), or is not gRPC`;
    return replyTooLarge(message, cause);
  }
  const [, httpStatus] = /^Received HTTP status code (\d{3})$/.exec(outcome.details) ?? [];
  if (httpStatus === undefined) return error;
  return new CallError(error.code, `the agent answered with HTTP status ${httpStatus}`, { metadata: { httpStatus } });
}

/** Statuses that grpc-js gives calls without a connection. */
const unconnectedStatuses: ReadonlySet<number> = new Set([status.UNAVAILABLE, status.INTERNAL]);

/**
 * Texts of grpc-js and Node for untrusted certificates, refused handshakes and unknown names: retries would fail too.
 */
const finalTexts = /certificate|altnames|SSL (?:routines|alert)|\bENOTFOUND\b/i;

/** HTTP/2 guarantees that the server did not process such a call. */
const refusalText = "Stream refused by server";

/** The texts of grpc-js for a broken call. An agent's own status usually has metadata, which distinguishes it. */
const breakTexts =
  /^(?:Connection dropped|Call cancelled|Stream refused by server|Received RST_STREAM .*|\w+ E[A-Z]+)$/s;
const brokenStatuses: ReadonlySet<number> = new Set([status.CANCELLED, status.INTERNAL, status.UNAVAILABLE]);

function isBreak({ code, details, metadata }: StatusObject): boolean {
  return brokenStatuses.has(code) && breakTexts.test(details) && Object.keys(metadata.getMap()).length === 0;
}

/** The reason for the missing connection, without the text that grpc-js adds. */
function extractReason(details: string): string {
  return details
    .replace(/^.*Last error: (?:Error: )?/s, "")
    .replace(/\s*\. Resolution note:.*$/s, "")
    .replace(/^[\dA-F]+:error:[\dA-F]+:SSL routines:[^:]*:([^:]+):.*$/s, "TLS: $1")
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, "");
}
