import { A2AError, ConnectionError, readErrorMessage } from "../../protocol/errors.js";
import { listCauses } from "../../protocol/fetch.js";
import { isObject } from "../../protocol/kinds.js";

// Interprets a `fetch` failure: whether the request was sent, and whether the response was too large.

export interface FetchFailure {
  /** The action that failed: `cannot reach http://…`. */
  readonly what: string;
  readonly cause: unknown;
  /** False if the request is known not to have been sent. */
  readonly started: boolean;
}

/** Maps a failed `fetch` call or a broken response to an error. */
export function fetchFailure({ what, cause, started }: FetchFailure): A2AError {
  const causes = listCauses(cause);
  for (const error of causes) {
    if (error instanceof A2AError) return error;
    if (headerOverflow.test(readCode(error))) {
      const limit = "the limit of Node (node --max-http-header-size)";
      return new A2AError("contentTooLarge", `the headers of the agent's answer are over ${limit}`, { cause });
    }
  }
  const written = started && !causes.some(isUnsent);
  const reason = describeCause(causes.at(-1));
  return new ConnectionError(reason === "" ? what : `${what}: ${reason}`, {
    cause,
    written,
    isFinal: causes.some((error) => isFinal(error) || isOtherProtocol(error)),
  });
}

// When several addresses fail, Node has one error for each and no message in the surrounding one.
function describeCause(error: Error | undefined): string {
  return (error instanceof AggregateError ? error.errors.map(readErrorMessage).join(", ") : "") || error?.message || "";
}

const headerOverflow = /^(?:UND_ERR_HEADERS|HPE_HEADER)_OVERFLOW$/;

/** Codes of Node and its `fetch` for failures before a connection exists. Another attempt may succeed. */
const connectErrorCodes =
  /^(?:ECONNREFUSED|E(?:HOST|NET)(?:UNREACH|DOWN)|EADDRNOTAVAIL|EAI_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_HANDSHAKE_TIMEOUT)$/;

/** Codes of failures before a request is read. A retry would fail in the same way. */
const finalErrorCodes: readonly RegExp[] = [
  // Names that do not exist.
  /^ENOTFOUND$/,
  // Server certificates; they are checked before anything is sent.
  /^(?:CERT|UNABLE_TO|ERR_TLS_CERT_ALTNAME)_|SELF_SIGNED_CERT|^(?:HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/,
  // The server refuses the handshake because of TLS parameters or the client certificate.
  /^ERR_SSL_(?:SSLV3|TLSV1|TLSV13)_(?:ALERT_)?(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|INSUFFICIENT_SECURITY|UNRECOGNIZED_NAME|NO_APPLICATION_PROTOCOL|UNKNOWN_CA|ACCESS_DENIED|(?:BAD_|UNSUPPORTED_)?CERTIFICATE(?:_\w+)?)$/,
];

function isUnsent(error: Error): boolean {
  if (connectErrorCodes.test(readCode(error)) || isFinal(error)) return true;
  return "socket" in error && isUntouched(error.socket);
}

function isFinal(error: Error): boolean {
  const code = readCode(error);
  return finalErrorCodes.some((form) => form.test(code));
}

/** Whether a server speaks no TLS or no HTTP, for which undici has a text alone. It may have read some of the request. */
function isOtherProtocol(error: Error): boolean {
  return readCode(error) === "ERR_SSL_WRONG_VERSION_NUMBER" || error.message.includes("(Expected HTTP/");
}

/** Whether undici's socket details prove that nothing was sent. */
function isUntouched(socket: unknown): boolean {
  return isObject(socket) && "bytesWritten" in socket && socket.bytesWritten === 0;
}

/** The code of an error; `""` if it has none. */
function readCode(error: Error): string {
  return "code" in error ? String(error.code) : "";
}
