import { MissingOperationError } from "../binding/transport.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { CredentialsError, NoInterfaceError, NotCalledError } from "./connection.js";

// What the failure of a call means for the next one: another interface, another try, or an answer to be heard.

/** What is known of a call that failed. */
export interface Circumstances {
  /** It does no harm to send the call twice. */
  readonly repeatable: boolean;
  /** The interface has answered before, so what it says is said by the agent. */
  readonly proven: boolean;
}

/** HTTP status of an answer that no A2A agent has given, only a server at its address. */
function foreignStatus(error: A2AError): number | undefined {
  const status = error.metadata["httpStatus"];
  return status === undefined ? undefined : Number(status);
}

/** Statuses of a server that has no such endpoint, and so has done nothing. */
const noEndpoint: ReadonlySet<number> = new Set([404, 405, 410, 415, 501]);
/** The same in words, of a server that says it in JSON. */
const unserved: ReadonlySet<string> = new Set(["methodNotFound", "methodNotAllowed", "unsupportedMediaType"]);
/** What is said of an answer that makes no sense. */
const strange: ReadonlySet<string> = new Set(["invalidAgentResponse", "contentTooLarge"]);
/** Statuses of a gateway whose agent is away. */
const away: ReadonlySet<number> = new Set([502, 503]);

/** Statuses of a server that wants something of the caller. */
const asksForMore: ReadonlySet<number> = new Set([401, 403, 407, 429]);

/** Whether a failure leads to the next interface (the card may name one that does not work). */
export function leadsOn(error: unknown, { repeatable, proven }: Circumstances): boolean {
  if (error instanceof ConnectionError) return repeatable || !error.written;
  if (!(error instanceof A2AError) || error instanceof CredentialsError) return false;
  const status = foreignStatus(error);
  if (status !== undefined) {
    if (away.has(status)) return repeatable;
    return !proven && (noEndpoint.has(status) || (repeatable && !asksForMore.has(status)));
  }
  if (error.code === "unavailable") return repeatable;
  if (error.code === "versionNotSupported") return true;
  return !proven && (unserved.has(error.code) || (repeatable && strange.has(error.code)));
}

/** Whether the agent itself says that it knows no such method, so that it has not done anything. */
export function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof A2AError) || error instanceof ConnectionError || foreignStatus(error) !== undefined)
    return false;
  return unserved.has(error.code) || error.code === "invalidRequest";
}

/** Whether a failure says that the agent has answered, whatever it said. */
export function isAnswer(error: unknown): boolean {
  if (!(error instanceof A2AError) || ourOwn.some((type) => error instanceof type)) return false;
  return foreignStatus(error) === undefined && !unanswered.has(error.code);
}

/** Errors that no agent has said. */
const ourOwn = [ConnectionError, CredentialsError, MissingOperationError];
const unanswered: ReadonlySet<string> = new Set(["unavailable", "deadlineExceeded", "invalidAgentResponse"]);

/** Whether the same call may get through a little later. */
export function mayPass(error: unknown, repeatable: boolean): boolean {
  if (error instanceof NoInterfaceError) return error.failures.some((failure) => mayPass(failure, repeatable));
  if (error instanceof ConnectionError) return !isOurs(error) && (repeatable || !error.written);
  if (error instanceof CredentialsError) return error.code === "unavailable";
  if (!repeatable || !(error instanceof A2AError)) return false;
  if (error.code === "resourceExhausted") return error.retryAfterMs !== undefined;
  return error.code === "unavailable" || error.code === "requestTimeout";
}

// A policy of addresses says no under its own name; where there is none, as in browsers, its room is not loaded.
function isOurs(error: ConnectionError): boolean {
  return error instanceof NotCalledError || error.name === "ForbiddenAddressError";
}

/** Whether a stream was cut off, and not ended by the agent. */
export function isCut(error: unknown): boolean {
  return error instanceof A2AError && error.code === "unavailable";
}

/** A failure in a few words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? deepest(error.cause) : undefined;
  return cause === undefined || error.message.includes(cause.message)
    ? error.message
    : `${error.message}: ${cause.message}`;
}

function deepest(error: Error): Error {
  return error.cause instanceof Error ? deepest(error.cause) : error;
}
