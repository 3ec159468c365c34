import { MissingOperationError } from "../binding/transport.js";
import { A2AError, ConnectionError, errorTable } from "../protocol/errors.js";
import { CredentialsError, NoInterfaceError } from "./connection.js";

// What a failed call means for the next step: another interface (`shouldTryNextInterface`), a retry (`isRetryable`), or
// an error for the caller. What an error code means is a column of `errorTable`.
//
// Two places decide more: `interface-client.ts` repeats a call once with renewed credentials, and
// `stream/resuming-stream.ts` follows a task by polling where the agent cannot resume its stream. `interface-pool.ts` says
// which calls are repeatable and which interface comes next, `retrying.ts` only how long and how often to retry.
//
// All of it depends on one fact: had the request left? `ConnectionError.written` says so. `binding/fetch/node-fetch.ts`
// knows it exactly, because it sees undici take the request; the gRPC client connects before it calls.

/** Facts about a failed call. */
export interface CallCircumstances {
  /** The call may safely be sent twice. */
  readonly repeatable: boolean;
  /** The interface has answered before, so its answers come from the agent. */
  readonly proven: boolean;
}

/** HTTP status of an answer that came from some server at the address, not from an A2A agent. */
export function readForeignStatus(error: unknown): number | undefined {
  const status = error instanceof A2AError ? error.metadata["httpStatus"] : undefined;
  return status === undefined ? undefined : Number(status);
}

/** Statuses of a server without such an endpoint, which therefore did nothing. */
const noEndpointStatuses: readonly number[] = [404, 405, 410, 415, 501];
/** Statuses of a gateway whose agent is down. */
const gatewayStatuses: readonly number[] = [502, 503];

/** Statuses of a server that needs something from the caller. */
const callerStatuses: readonly number[] = [401, 403, 407, 429];

/** Whether a failure leads to the next interface (the card may list a broken one). */
export function shouldTryNextInterface(error: unknown, { repeatable, proven }: CallCircumstances): boolean {
  if (error instanceof ConnectionError) return repeatable || !error.written;
  if (!(error instanceof A2AError) || error instanceof CredentialsError) return false;
  const status = readForeignStatus(error);
  if (status !== undefined) {
    if (gatewayStatuses.includes(status)) return repeatable;
    return !proven && (noEndpointStatuses.includes(status) || (repeatable && !callerStatuses.includes(status)));
  }
  switch (errorTable[error.code].tryNextInterface) {
    case "yes":
      return true;
    case "ifRepeatable":
      return repeatable;
    case "ifUnproven":
      return !proven;
    case "ifBoth":
      return repeatable && !proven;
    case "no":
      return false;
  }
}

/** Whether the agent itself does not know the method, and so did nothing. */
export function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof A2AError) || error instanceof ConnectionError || readForeignStatus(error) !== undefined)
    return false;
  return errorTable[error.code].tryNextInterface === "ifUnproven" || error.code === "invalidRequest";
}

/** Whether the failure is an answer of the agent. */
export function isAgentAnswer(error: unknown): boolean {
  if (!(error instanceof A2AError) || clientErrors.some((type) => error instanceof type)) return false;
  return readForeignStatus(error) === undefined && errorTable[error.code].provesAgent;
}

/** Errors that never come from an agent. */
const clientErrors = [ConnectionError, CredentialsError, MissingOperationError];

/** Whether the same call may succeed a little later. */
export function isRetryable(error: unknown, repeatable: boolean): boolean {
  if (error instanceof NoInterfaceError) return error.failures.some((failure) => isRetryable(failure, repeatable));
  if (error instanceof ConnectionError) return !error.isFinal && (repeatable || !error.written);
  if (error instanceof CredentialsError) return error.code === "unavailable";
  if (!repeatable || !(error instanceof A2AError)) return false;
  const { retry } = errorTable[error.code];
  return retry === "yes" || (retry === "withDelay" && error.retryAfterMs !== undefined);
}

/** Whether the agent is away for the moment: nothing of the call was sent, and one of its interfaces may come back. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof ConnectionError) || error.written) return false;
  if (!(error instanceof NoInterfaceError)) return !error.isFinal;
  const { failures } = error;
  return (
    failures.some(isUnreachable) && failures.every((each) => each instanceof ConnectionError || isUnavailable(each))
  );
}

/** Whether a server may be back a little later: it, or the one behind a proxy, is down. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.isFinal;
  return gatewayStatuses.includes(readForeignStatus(error) ?? 0);
}

/** Whether a stream was cut off instead of ended by the agent. */
export function isCutOff(error: unknown): boolean {
  return error instanceof A2AError && error.code === "unavailable";
}

/** A failure in a few words. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? rootCause(error.cause) : undefined;
  return cause === undefined || error.message.includes(cause.message)
    ? error.message
    : `${error.message}: ${cause.message}`;
}

function rootCause(error: Error): Error {
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}
