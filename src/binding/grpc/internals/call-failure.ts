import { type ChannelInterface, type StatusObject, status } from "@grpc/grpc-js";
import { A2AError, ConnectionError } from "../../../protocol/errors.js";
import { errorFromStatus } from "../errors.js";
import type { RpcMethod } from "../method.js";

// Only the words and the peer of a status tell whether grpc-js or the agent set it, and whether the request had left.
// Tried with grpc-js 1.14.7. Costs a call that succeeds nothing. Without it calls that never left would not be retried.

/** A call that has ended with a status other than OK. */
export interface FailedCall {
  readonly channel: ChannelInterface;
  readonly method: RpcMethod;
  /** As the user wrote it. */
  readonly address: string;
  /** Whom the call has reached, as `getPeer` says. */
  readonly peer: string;
}

/** What the status of a failed call means: a `ConnectionError` when no agent has said it, else what the agent says by it. */
export function callFailure(outcome: StatusObject, call: FailedCall): A2AError {
  // What was given to a connection has its address as peer; before that it is the target, or nothing.
  const isTaken = call.peer !== call.channel.getTarget() && call.peer !== "unknown";
  if (!isTaken && unmade.has(outcome.code)) {
    return new ConnectionError(`cannot reach ${call.address}: ${reasonOf(outcome.details)}`, { written: false });
  }
  if (isTaken && isBreak(outcome)) {
    const written = outcome.details !== refused;
    return new ConnectionError(`the connection to ${call.address} broke: ${outcome.details}`, { written });
  }
  return errorOfAnswer(outcome, call.method);
}

/** An HTTP answer of a server that speaks no gRPC is marked as such. */
function errorOfAnswer(outcome: StatusObject, method: RpcMethod): A2AError {
  const given = errorFromStatus(outcome, method);
  // Said by grpc-js itself; also of an answer that is no gRPC at all, whose first bytes read as a length.
  if (given.code === "resourceExhausted" && /^Received message larger than max \(/.test(outcome.details)) {
    const cause = new Error(outcome.details);
    return new A2AError("contentTooLarge", "the agent's answer is over the limit, or no message", { cause });
  }
  const [, httpStatus] = /^Received HTTP status code (\d{3})$/.exec(outcome.details) ?? [];
  if (httpStatus === undefined) return given;
  return new A2AError(given.code, `the agent answered with HTTP status ${httpStatus}`, { metadata: { httpStatus } });
}

/** Statuses of calls for which there was no connection. */
const unmade: ReadonlySet<number> = new Set([status.UNAVAILABLE, status.INTERNAL]);

/** HTTP/2 promises that such a call was not looked at. */
const refused = "Stream refused by server";

/** How grpc-js says that a call broke off. The agent's own words come with metadata as a rule, and are told from these. */
const breaks = /^(?:Connection dropped|Call cancelled|Stream refused by server|Received RST_STREAM .*|\w+ E[A-Z]+)$/s;
const brokenStatuses: ReadonlySet<number> = new Set([status.CANCELLED, status.INTERNAL, status.UNAVAILABLE]);

function isBreak({ code, details, metadata }: StatusObject): boolean {
  return brokenStatuses.has(code) && breaks.test(details) && Object.keys(metadata.getMap()).length === 0;
}

/** Why there was no connection, without what grpc-js says around it. */
function reasonOf(details: string): string {
  return details
    .replace(/^.*Last error: (?:Error: )?/s, "")
    .replace(/\s*\. Resolution note:.*$/s, "")
    .replace(/^[\dA-F]+:error:[\dA-F]+:SSL routines:[^:]*:([^:]+):.*$/s, "TLS: $1")
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, "");
}
