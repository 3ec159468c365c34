import type { ReportOmission } from "../../protocol/codec/json/reading.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Fetch, FetchInit, HttpAnswer } from "../../protocol/fetch.js";
import { formatExtensions, lowerCaseNames, versionParameter } from "../../protocol/service-parameters.js";
import type { JsonRpcAdapter } from "../../version/codec.js";
import { fetchFailure } from "./failure.js";

// One `fetch` call of a client transport over HTTP, and the meaning of its failures.

export interface HttpTransportOptions {
  /** URL of the interface from the agent card. */
  readonly url: string;
  /** Default: the runtime's `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Headers for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Largest reply, or event of a stream, in bytes. Default: 32 MiB. */
  readonly replyMaxBytes?: number | undefined;
  /** Hears of members of answers that cannot be read and are left out. */
  readonly onLeftOut?: ReportOmission | undefined;
}

export const replyMaxDefault = 32 * 1024 * 1024;

interface OutgoingCall {
  readonly method: string;
  readonly url: string;
  readonly accept: string;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
  readonly options: CallOptions;
  /** Aborts when the reader leaves the stream. */
  readonly leaveSignal?: AbortSignal | undefined;
}

/** A response whose body is still unread. */
export interface UnreadAnswer {
  readonly response: HttpAnswer;
  /**
   * Maps a failure to read the body to the error to throw: the caller's own abort reason as is, else an error that says
   * what happened.
   */
  failure(cause: unknown): unknown;
}

export type SendHttp = (call: OutgoingCall) => Promise<UnreadAnswer>;

/** How a version marks its calls. */
type SpokenVersion = Pick<JsonRpcAdapter, "declares" | "extensionsName">;

/** Creates the function that sends the calls of one version to one interface. */
export function createSender(options: HttpTransportOptions, adapter: SpokenVersion): SendHttp {
  const { fetch: send = (input, init) => fetch(input, init) } = options;
  const { declares } = adapter;
  const base = {
    ...lowerCaseNames(options.headers),
    ...(declares === undefined ? {} : { [versionParameter]: declares }),
  };
  const extensionsName = adapter.extensionsName.toLowerCase();
  return async (call) => {
    const { method, url, body } = call;
    const deadline = call.options.timeoutMs === undefined ? undefined : AbortSignal.timeout(call.options.timeoutMs);
    const signal = anySignal([call.options.signal, call.leaveSignal, deadline]);
    const describeFailure = (cause: unknown, what: string): unknown =>
      localFailure(call, deadline, cause) ?? fetchFailure({ what, cause, started: true });
    const failure = (cause: unknown): unknown => describeFailure(cause, `the answer of ${url} broke off`);
    const init: FetchInit = {
      method,
      headers: buildHeaders(base, call, extensionsName),
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      return { response: await send(withQuery(url, call.options.query), init), failure };
    } catch (cause) {
      throw describeFailure(cause, `cannot reach ${url}`);
    }
  };
}

function buildHeaders(
  base: Readonly<Record<string, string>>,
  call: OutgoingCall,
  extensionsName: string,
): Record<string, string> {
  const { options, accept, contentType } = call;
  const headers: Record<string, string> = { ...base, ...lowerCaseNames(options.headers), accept };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (options.extensions !== undefined && options.extensions.length > 0) {
    headers[extensionsName] = formatExtensions(options.extensions);
  }
  if (options.after !== undefined) headers["last-event-id"] = options.after;
  return headers;
}

function withQuery(url: string, query: CallOptions["query"]): string {
  if (query === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(query)}`;
}

function anySignal(signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const present = signals.filter((signal) => signal !== undefined);
  // A new signal per call: a long-lived one would collect the listeners of every call.
  return present.length === 0 ? undefined : AbortSignal.any(present);
}

/**
 * The reason a call was ended on this side: the caller's abort, an `A2AError`, or the deadline. `undefined` if none
 * applies.
 */
function localFailure({ options }: OutgoingCall, deadline: AbortSignal | undefined, cause: unknown): unknown {
  if (options.signal?.aborted === true) return options.signal.reason;
  if (cause instanceof A2AError) return cause;
  if (deadline?.aborted !== true) return undefined;
  return new A2AError("deadlineExceeded", `no answer within ${options.timeoutMs} ms`, { cause });
}
