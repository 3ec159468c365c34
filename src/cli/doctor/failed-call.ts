import { NoInterfaceError } from "../../client/connection.js";
import { readForeignStatus } from "../../client/failures.js";
import type { ConnectOptions } from "../../client/options.js";
import { toBindingName } from "../../protocol/bindings.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/kinds.js";
import { describeCause, type Finding } from "./finding.js";

// What a failed call of the doctor means. A call without an answer is explained by the text of its error (`unreached`), an
// answer of the agent by its code (`causes`), and an answer of another server, such as a proxy, by its HTTP status
// (`byStatus`).

/** A failed call and its circumstances. */
export interface FailedCall {
  readonly error: unknown;
  readonly binding: string;
  /** Whether the call carried credentials or headers of the caller. */
  readonly hasSecrets: boolean;
  /** Why the call carried no credentials although some were given. */
  readonly withholdReason: string | undefined;
  /** Whether the server says that it refuses work, which another check reports. */
  readonly isUnready: boolean;
}

type Cause = Pick<Finding, "result" | "seen" | "remedy">;

/** Whether a caller gave credentials, or headers that may hold them. */
export function hasSecrets({ credentials, headers }: ConnectOptions): boolean {
  const given = (value: unknown): boolean =>
    typeof value === "function" || (isObject(value) && Object.keys(value).length > 0);
  return given(credentials) || given(headers);
}

/** Returns the cause of a failed call, and the remedy. */
export function findCause(call: FailedCall): Cause {
  const error = findAnswer(call.error);
  const reason = describeCause(error);
  const status = readForeignStatus(error);
  if (error instanceof ConnectionError) {
    const known = unreached.find(([said]) => said.test(reason));
    return failed(reason, known?.[1] ?? proxyRemedy(call.binding));
  }
  // Agents behind middleware have only a status for missing credentials too.
  const isAgents = error instanceof A2AError && (status === undefined || status === 401);
  const cause = isAgents ? causes[error.code]?.(call, reason) : undefined;
  return cause ?? failed(reason, byStatus[status ?? 0] ?? proxyRemedy(call.binding));
}

const failed = (seen: string, remedy: string): Cause => ({ result: "failed", seen, remedy });

/** Causes of errors in the protocol's own form, which come from the agent itself. */
const causes: Readonly<Partial<Record<A2AError["code"], (call: FailedCall, reason: string) => Cause>>> = {
  unauthenticated({ hasSecrets, withholdReason }, reason) {
    if (hasSecrets) {
      return failed(
        `the agent refuses these credentials: ${reason}`,
        "check that they are not expired, and that they were issued for this agent",
      );
    }
    return {
      result: "warning",
      seen: "the agent answers and wants credentials",
      remedy: credentialRemedy(withholdReason),
    };
  },
  permissionDenied({ hasSecrets, withholdReason }, reason) {
    if (hasSecrets) {
      return failed(
        `the agent knows the caller and does not permit the call: ${reason}`,
        "use credentials with the scopes that the card requires",
      );
    }
    return {
      result: "warning",
      seen: `the agent answers and refuses this caller: ${reason}`,
      remedy: credentialRemedy(withholdReason),
    };
  },
  resourceExhausted: (_, reason) => ({
    result: "warning",
    seen: `the agent answers and limits this caller: ${reason}`,
    remedy: "try again later, or raise the limit that the error names",
  }),
  unavailable: ({ isUnready }, reason) =>
    failed(
      `the agent answers and takes no work: ${reason}`,
      isUnready ? "see readiness" : "try again later; if that does not help, read the server's log",
    ),
  internalError: (_, reason) =>
    failed(`the agent failed: ${reason}`, "read the server's log under the reference of the error"),
  requestTimeout: (_, reason) =>
    failed(reason, "the request did not arrive in time: check the connection, and proxies that hold requests back"),
};

function credentialRemedy(withholdReason: string | undefined): string {
  return withholdReason === undefined ? "give --bearer, --credential or --header" : `${withholdReason} (--trust)`;
}

/** Remedies for a call without an answer, by the text of its error. */
const unreached: readonly (readonly [said: RegExp, remedy: string])[] = [
  [/client certificate/, "give the certificate that the server expects: --cert and --key"],
  [
    /ECONNREFUSED|EHOST|ENET|ETIMEDOUT/,
    "check that the server runs at this address, and that firewalls let this machine reach it",
  ],
  [/ENOTFOUND|EAI_|Name resolution failed/i, "check the name, and that this machine can resolve it"],
  [/certificate/, "see the checks of TLS; --ca adds an authority"],
];

const byStatus: Readonly<Record<number, string>> = {
  403: "a proxy, a firewall or a web server refuses the call, not the agent: look at its rules and its log",
  429: "a proxy limits this caller: look at its rules, or try again later",
  502: "the proxy cannot reach the agent: check that it runs, and the address that the proxy has for it",
  503: "the proxy has no agent that takes calls: check that one runs and is ready",
  504: "the agent did not answer the proxy in time: check that it runs, and the proxy's timeouts",
};

/** The answer of the one interface that was called, instead of the error about all interfaces. */
function findAnswer(error: unknown): unknown {
  return error instanceof NoInterfaceError && error.failures.length === 1 ? error.failures[0] : error;
}

function proxyRemedy(binding: string): string {
  if (toBindingName(binding) === "GRPC") {
    return "gRPC needs HTTP/2 and trailers all the way: in a proxy use grpc_pass (nginx), proto h2 (HAProxy) or HTTP/2 upstreams (Envoy), or set publicGrpc";
  }
  return "check that the proxy passes this path and its method POST, and that publicUrl is the address that callers use";
}

/** The remedy for a card that cannot be read, by the status of the answer. */
export function findCardRemedy(error: unknown): string | undefined {
  const status = readForeignStatus(error) ?? Number(/HTTP status (\d{3})/.exec(describeCause(error))?.[1]);
  if (status === 401)
    return "the card needs credentials: give --bearer, --credential or --header, or let the proxy pass /.well-known/";
  return byStatus[status];
}
