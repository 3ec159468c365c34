import { suggestion } from "./nearest.js";

// Errors: the table of codes, the one class that carries them, and how peers are read. A new code is a row of
// `errorTable`: the bindings, the client, the gateway and telemetry read the columns, and the compiler asks for each, or
// `finalAnswer` decides it. A version that calls it by another number has that in its own table
// (`version/v0.1/errors.ts`, `version/v0.3/errors.ts`).

/** How programs handle an error, by its code alone. */
interface ErrorColumns {
  /** The specification's own words, which callers look for at the beginning of a message. See `errorForPeer`. */
  readonly words?: string;
  /** HTTP statuses that are read as this error where nothing else in the answer says more. */
  readonly fromHttp: readonly number[];
  /** gRPC statuses that are read as this error where the details name none. */
  readonly fromGrpc: readonly number[];
  /** Whether JSON-RPC answers with the HTTP status too. It sends all other errors with 200, since some readers drop them otherwise. */
  readonly keepsHttpStatus: boolean;
  /** Whether the same call may succeed a little later. `withDelay`: only if the error says when (`retryAfterMs`). */
  readonly retry: "yes" | "withDelay" | "no";
  /**
   * Whether the client goes on to the next interface. `ifRepeatable`: if the call may be sent twice. `ifUnproven`: the
   * server has no such endpoint and did nothing, unless the interface has answered before. `ifBoth`: the answer makes no
   * sense, so both must hold.
   */
  readonly tryNextInterface: "yes" | "ifRepeatable" | "ifUnproven" | "ifBoth" | "no";
  /** Whether only an agent gives this error, and no proxy, time limit or reader. */
  readonly provesAgent: boolean;
  /** Whether callers of a gateway hear this error of a server that is no agent. They hear `invalidAgentResponse` else. */
  readonly public: boolean;
}

/** One row of the table: the form of an error in each binding (spec 5.4), and what follows from it. */
export interface ErrorRow extends ErrorColumns {
  /** `ErrorInfo.reason`: the protocol's for the nine A2A errors, else the framework's own. */
  readonly reason: string;
  readonly jsonRpc: number;
  readonly grpc: number;
  readonly http: number;
  /** Whether A2A itself defines the error. Those nine have the codes -32001 to -32009. */
  readonly a2a: boolean;
}

const row = <C extends ErrorColumns>(reason: string, jsonRpc: number, grpc: number, http: number, columns: C) => ({
  reason,
  jsonRpc,
  grpc,
  http,
  a2a: -32009 <= jsonRpc && jsonRpc <= -32001,
  ...columns,
});

/**
 * An agent's answer about the call itself: it stands, however often and wherever the call is made. A row names what differs
 * from this; a column that is added gets its value here, and must be decided for every row.
 */
const finalAnswer = {
  fromHttp: [],
  fromGrpc: [],
  keepsHttpStatus: false,
  retry: "no",
  tryNextInterface: "no",
  provesAgent: true,
  public: false,
} as const satisfies ErrorColumns;

/**
 * All errors and their forms in each binding (spec 3.3.2, 5.4, 9.5): `errorTable[error.code].http` is the HTTP status,
 * but that `unavailable` is 502 once the work of a call has begun, and that JSON-RPC and gRPC answer most errors with 200;
 * `jsonRpc` and `grpc` are the other codes, `reason` identifies the error for programs. If several errors share a
 * JSON-RPC code, readers take the first.
 */
export const errorTable = {
  /** There is no such task, or the caller may not see it. */
  taskNotFound: row("TASK_NOT_FOUND", -32001, 5, 404, { ...finalAnswer, words: "Task not found", fromGrpc: [5] }),
  /** The task has ended. */
  taskNotCancelable: row("TASK_NOT_CANCELABLE", -32002, 9, 400, { ...finalAnswer, words: "Task cannot be canceled" }),
  /** The agent sends no push notifications. */
  pushNotificationNotSupported: row("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 9, 400, {
    ...finalAnswer,
    words: "Push Notification is not supported",
  }),
  /** The agent does not support this, in this state of the task or at all. */
  unsupportedOperation: row("UNSUPPORTED_OPERATION", -32004, 9, 400, {
    ...finalAnswer,
    words: "This operation is not supported",
    fromGrpc: [9],
  }),
  /** The agent does not accept the media type of a part. */
  contentTypeNotSupported: row("CONTENT_TYPE_NOT_SUPPORTED", -32005, 3, 400, {
    ...finalAnswer,
    words: "Incompatible content types",
  }),
  /** The answer of an agent does not follow the protocol, or does not fit a schema. */
  invalidAgentResponse: row("INVALID_AGENT_RESPONSE", -32006, 13, 500, {
    ...finalAnswer,
    tryNextInterface: "ifBoth",
    provesAgent: false,
  }),
  /** There is no extended card for this caller. */
  extendedAgentCardNotConfigured: row("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 9, 400, finalAnswer),
  /** The card requires an extension that the call does not activate. */
  extensionSupportRequired: row("EXTENSION_SUPPORT_REQUIRED", -32008, 9, 400, finalAnswer),
  /** The agent does not serve this version of the protocol. */
  versionNotSupported: row("VERSION_NOT_SUPPORTED", -32009, 9, 400, { ...finalAnswer, tryNextInterface: "yes" }),
  /** The request is not JSON, or not a binary message. */
  parseError: row("PARSE_ERROR", -32700, 3, 400, finalAnswer),
  /** The request is malformed, such as a JSON-RPC batch. */
  invalidRequest: row("INVALID_REQUEST", -32600, 3, 400, finalAnswer),
  /** There is no such method or path. */
  methodNotFound: row("METHOD_NOT_FOUND", -32601, 12, 404, {
    ...finalAnswer,
    fromHttp: [404, 501],
    fromGrpc: [12],
    tryNextInterface: "ifUnproven",
  }),
  /** The path has no such HTTP method. */
  methodNotAllowed: row("METHOD_NOT_ALLOWED", -32600, 12, 405, {
    ...finalAnswer,
    fromHttp: [405],
    keepsHttpStatus: true,
    tryNextInterface: "ifUnproven",
  }),
  /** Fields are missing or wrong; `violations` names each. */
  invalidParams: row("INVALID_PARAMS", -32602, 3, 400, { ...finalAnswer, fromHttp: [400], fromGrpc: [3, 11] }),
  /** A body, a message or an answer exceeds its limit. */
  contentTooLarge: row("CONTENT_TOO_LARGE", -32600, 8, 413, {
    ...finalAnswer,
    fromHttp: [413],
    keepsHttpStatus: true,
    tryNextInterface: "ifBoth",
    public: true,
  }),
  // Only HTTP distinguishes this error. The protocol has one error for both.
  /** The body has a content type other than JSON. */
  unsupportedMediaType: {
    ...row("UNSUPPORTED_MEDIA_TYPE", -32005, 3, 415, {
      ...finalAnswer,
      fromHttp: [415],
      keepsHttpStatus: true,
      tryNextInterface: "ifUnproven",
    }),
    a2a: false,
  },
  /** Credentials are missing or wrong; `challenge` names the accepted schemes. */
  unauthenticated: row("UNAUTHENTICATED", -32000, 16, 401, {
    ...finalAnswer,
    fromHttp: [401],
    fromGrpc: [16],
    keepsHttpStatus: true,
    public: true,
  }),
  /** The caller is authenticated, but may not do this. */
  permissionDenied: row("PERMISSION_DENIED", -32000, 7, 403, {
    ...finalAnswer,
    fromHttp: [403],
    fromGrpc: [7],
    keepsHttpStatus: true,
    public: true,
  }),
  /** The agent or the server failed; the cause is in its log under the reference in the message. */
  internalError: row("INTERNAL", -32603, 13, 500, { ...finalAnswer, fromHttp: [500], fromGrpc: [13], public: true }),
  /** The caller has reached a limit; `retryAfterMs`, where it is set, says when to retry. */
  resourceExhausted: row("RESOURCE_EXHAUSTED", -32603, 8, 429, {
    ...finalAnswer,
    fromHttp: [429],
    fromGrpc: [8],
    keepsHttpStatus: true,
    retry: "withDelay",
    public: true,
  }),
  /** The server is shutting down, overloaded, without its store, or not reached. */
  unavailable: row("UNAVAILABLE", -32603, 14, 503, {
    fromHttp: [502, 503],
    fromGrpc: [1, 14],
    keepsHttpStatus: true,
    retry: "yes",
    tryNextInterface: "ifRepeatable",
    provesAgent: false,
    public: true,
  }),
  /** The body of the request arrives too slowly. */
  requestTimeout: row("REQUEST_TIMEOUT", -32600, 4, 408, {
    ...finalAnswer,
    fromHttp: [408],
    retry: "yes",
    public: true,
  }),
  /** A time limit of the call has passed. */
  deadlineExceeded: row("DEADLINE_EXCEEDED", -32603, 4, 504, {
    ...finalAnswer,
    fromHttp: [504],
    fromGrpc: [4],
    provesAgent: false,
    public: true,
  }),
} as const satisfies Record<string, ErrorRow>;

/** The code that identifies an error: `error.code === "taskNotFound"`. */
export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as readonly ErrorCode[];

/** `ErrorInfo.domain` of the protocol's reasons (spec 9.5, 10.6, 11.6). */
export const errorDomain = "a2a-protocol.org";

/** An invalid field of a request and the reason. `field` is a dotted path: `message.parts[0].text`. */
export interface FieldViolation {
  /** Dotted path of the field. */
  readonly field: string;
  /** The problem: the kind of value found, and what is allowed. */
  readonly description: string;
}

/** Options of an `A2AError`. */
export interface ErrorOptions {
  /** The underlying error, for the log. Never sent to the peer. */
  readonly cause?: unknown;
  /** The invalid fields, for `BadRequest` details. */
  readonly violations?: readonly FieldViolation[] | undefined;
  /** A reason of your own, such as `BERTH_TAKEN`, for `ErrorInfo.reason`. Default: the code's, by `errorTable`. */
  readonly reason?: string | undefined;
  /**
   * Domain that defines the reason, such as `harbour.example`, for `ErrorInfo.domain`. Default: the protocol's domain.
   */
  readonly domain?: string | undefined;
  /** Further details for `ErrorInfo.metadata`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** When a retry may succeed, in milliseconds: `Retry-After`, `RetryInfo`. */
  readonly retryAfterMs?: number | undefined;
  /** The value of `WWW-Authenticate` for `unauthenticated` and `permissionDenied`. */
  readonly challenge?: string | undefined;
}

/**
 * An error of the protocol. Check `code`, which every binding translates in both directions by `errorTable`. The peer
 * gets its message, `reason`, `domain` and `metadata`, but never its `cause`. The constructor throws a `TypeError` for
 * a code that is not in `errorTable`, and for unknown options.
 *
 * @example
 * ```ts
 * const agent: Agent = async ({ text }) => {
 *   if (text === "") throw new A2AError("invalidParams", "send the name of a city");
 *   return reply(`It rains in ${text}.`);
 * };
 * ```
 *
 * @example
 * ```ts
 * try {
 *   await client.send("What is the weather in Oslo?");
 * } catch (error) {
 *   if (!(error instanceof A2AError)) throw error;
 *   console.error(error.code, error.message, error.retryAfterMs);
 * }
 * ```
 */
export class A2AError extends Error {
  /** Identifies the error. */
  readonly code: ErrorCode;
  /** The invalid fields. Empty for errors about something else. */
  readonly violations: readonly FieldViolation[];
  /**
   * The reason for programs, such as `TASK_NOT_FOUND`: the sender's own, or that of the code in `errorTable`. JSON-RPC
   * before 1.0 does not carry it.
   */
  readonly reason: string;
  /** Domain that defines the reason: the sender's, or `a2a-protocol.org`. */
  readonly domain: string;
  /** Further details, as in `ErrorInfo.metadata`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When a retry may succeed, in milliseconds from the answer. */
  readonly retryAfterMs: number | undefined;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    if (!Object.hasOwn(errorTable, code)) {
      throw new TypeError(`unknown error code ${JSON.stringify(code)}: ${suggestion(String(code), errorCodes)}`);
    }
    // Another error may serve as the options. A reason that it has by its code does not apply to this code.
    const isCopied = options instanceof A2AError;
    if (!isCopied) checkNames(options);
    const { reason, domain } = isCopied ? ownReason(options) : options;
    const { metadata } = options;
    if (reason !== undefined || domain !== undefined || metadata !== undefined) {
      checkInfo(code, { reason, domain, metadata });
    }
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "A2AError";
    this.code = code;
    this.violations = options.violations ?? [];
    this.reason = reason || errorTable[code].reason;
    this.domain = domain || errorDomain;
    this.metadata = metadata ?? {};
    this.retryAfterMs = options.retryAfterMs;
    this.challenge = options.challenge;
  }
}

const optionTypes: Readonly<Record<string, string>> = {
  cause: "",
  violations: "object",
  reason: "string",
  domain: "string",
  metadata: "object",
  retryAfterMs: "number",
  challenge: "string",
} satisfies Record<keyof ErrorOptions, string>;

// For programs without TypeScript: values that cannot be sent are refused at once.
function checkNames(options: ErrorOptions): void {
  if (options instanceof Error) throw new TypeError("give the error as { cause }, not as the options");
  for (const name in options) {
    const value = options[name as keyof ErrorOptions];
    const type = Object.hasOwn(optionTypes, name) ? optionTypes[name] : undefined;
    if (value === undefined || type === "" || typeof value === type) continue;
    if (type !== undefined) throw wrongType(name, type, value);
    throw new TypeError(`${name} of an error cannot be given: ${suggestion(name, Object.keys(optionTypes))}`);
  }
}

function wrongType(name: string, type: string, value: unknown): TypeError {
  const article = type === "object" ? "an" : "a";
  return new TypeError(`${name} of an error must be ${article} ${type}, not a value of type ${typeof value}`);
}

function checkInfo(code: ErrorCode, { reason, domain, metadata = {} }: ErrorOptions): void {
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value !== "string") throw wrongType(`metadata.${key}`, "string", value);
  }
  const owner = errorCodeFromReason((domain || errorDomain) === errorDomain ? (reason ?? "") : "");
  if (owner !== undefined && owner !== code) {
    throw new TypeError(`reason ${reason} is that of ${owner}: choose another, or give a domain of your own`);
  }
}

/** The members of an error that its sender has chosen; none of an error with the reason of its code. */
export function ownReason({ code, reason, domain }: A2AError): Pick<ErrorOptions, "reason" | "domain"> {
  return reason === errorTable[code].reason && domain === errorDomain ? {} : { reason, domain };
}

/** Copies an error with some members replaced. */
export function changeError(
  error: A2AError,
  changes: ErrorOptions & { readonly code?: ErrorCode; readonly message?: string },
): A2AError {
  const { violations, metadata, retryAfterMs, challenge, cause } = error;
  const { code = error.code, message = error.message, ...others } = changes;
  const members = { violations, metadata, ...ownReason(error), retryAfterMs, challenge, cause };
  const Type = error instanceof CallError ? CallError : A2AError;
  return new Type(code, message, { ...members, ...others });
}

/**
 * A failure that the client of a call has found, not one that the agent reported. Its text names addresses. A process that
 * made the call for its own caller shows that caller `maskedError` instead.
 */
export class CallError extends A2AError {}

/**
 * A failure whose reason is only for the log, such as the failure of another server that a call needs. Callers get its code
 * and its message.
 */
export class MaskedError extends Error {
  readonly code: ErrorCode;
  /** The message of the log record, which has the `cause`. */
  readonly record: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly record: string; readonly cause: unknown; readonly retryAfterMs?: number | undefined },
  ) {
    super(message, { cause: options.cause });
    this.name = "MaskedError";
    this.code = code;
    this.record = options.record;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The error for a caller who must not learn the reason. The log has it under the reference. */
export function maskedError(
  code: ErrorCode,
  text: string,
  { reference, retryAfterMs }: { readonly reference: string; readonly retryAfterMs?: number | undefined },
): A2AError {
  return new A2AError(code, `${text} (reference ${reference})`, { metadata: { reference }, retryAfterMs });
}

interface ConnectionErrorOptions extends ErrorOptions {
  readonly written: boolean;
  /** Default: false. */
  readonly isFinal?: boolean | undefined;
}

/**
 * A call that got no answer from the agent. `written` is false if no byte of the request was sent, because the name is
 * unknown, or the connection was refused, timed out or was not trusted: then the agent cannot have acted on it.
 *
 * @example
 * ```ts
 * try {
 *   await client.send("Pay the invoice");
 * } catch (error) {
 *   if (!(error instanceof ConnectionError)) throw error;
 *   console.error(error.written ? "the agent may have paid" : "nothing was sent");
 * }
 * ```
 */
export class ConnectionError extends CallError {
  /** Whether any byte of the request was sent. */
  readonly written: boolean;
  /**
   * Whether another attempt would fail too: the name does not exist, or the peer is not trusted, not allowed, or speaks
   * another protocol.
   */
  readonly isFinal: boolean;

  constructor(message: string, { written, isFinal = false, ...options }: ConnectionErrorOptions) {
    super("unavailable", message, options);
    this.name = "ConnectionError";
    this.written = written;
    this.isFinal = isFinal;
  }
}

/**
 * Returns a message that begins with the specification's words for its error, if it has some, followed by the detail.
 */
export function formatErrorMessage(code: ErrorCode, detail: string): string {
  const { words }: ErrorRow = errorTable[code];
  if (words === undefined || detail.startsWith(words)) return detail;
  if (detail.slice(0, words.length).toLowerCase() === words.toLowerCase()) return words + detail.slice(words.length);
  return detail === "" ? words : `${words}: ${detail}`;
}

/** Returns an error in the form that a server sends, over every binding and in every version. */
export function errorForPeer(error: A2AError): A2AError {
  const message = formatErrorMessage(error.code, error.message);
  return message === error.message ? error : changeError(error, { message });
}

/** Creates an `invalidParams` error about fields of a request. Its message names the first of them. */
export function invalidParams(...violations: readonly FieldViolation[]): A2AError {
  const [first] = violations;
  const message =
    first === undefined ? "invalid parameters" : `invalid parameters: ${first.field} ${first.description}`;
  return new A2AError("invalidParams", message, { violations });
}

/**
 * Creates the `taskNotFound` error. It is the same for a missing task and for a task of another caller (spec 3.3.2).
 */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError("taskNotFound", errorTable.taskNotFound.words, { metadata: { taskId } });
}

/** Finds codes by a column. Of several errors with one value, the first of the table counts. */
function indexBy<T>(readValues: (row: ErrorRow) => readonly T[]): ReadonlyMap<unknown, ErrorCode> {
  const entries = errorCodes.flatMap((code) => readValues(errorTable[code]).map((value) => [value, code] as const));
  return new Map(entries.reverse());
}

const byReason = indexBy(({ reason }) => [reason]);
const byJsonRpc = indexBy(({ jsonRpc }) => [jsonRpc]);
const byHttp = indexBy(({ fromHttp }) => fromHttp);
const byGrpc = indexBy(({ fromGrpc }) => fromGrpc);

/** Returns the code with this `ErrorInfo.reason`, or `undefined`. */
export function errorCodeFromReason(reason: string): ErrorCode | undefined {
  return byReason.get(reason);
}

/** Returns the most likely code with this JSON-RPC number, or `undefined`. */
export function errorCodeFromJsonRpc(number: unknown): ErrorCode | undefined {
  return byJsonRpc.get(number);
}

/** Returns the code of an error that has only an HTTP status. `otherwise` is for statuses that are not in the table. */
export function errorCodeFromHttp(
  status: number,
  otherwise: ErrorCode = status >= 400 && status < 500 ? "invalidRequest" : "internalError",
): ErrorCode {
  return byHttp.get(status) ?? otherwise;
}

/** Returns the code of an error that has only a gRPC status. CANCELLED is `unavailable`: servers that shut down send it. */
export function errorCodeFromGrpc(status: number): ErrorCode {
  return byGrpc.get(status) ?? "internalError";
}

/** The message of what was thrown; its text where that is no error. */
export function readErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
