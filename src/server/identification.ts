import type { AuthGate } from "../auth/gate.js";
import type { CallHead, Service } from "../binding/service.js";
import type { CallOrigin, IdentifiedCaller, PeerCertificate, Principal } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { everyone } from "./anonymous.js";

/** The headers or metadata of a call, passed to `authenticate` before the body is read. */
export interface Caller {
  /** The binding of the call, or `"in-process"`. */
  readonly binding: CallOrigin;
  /**
   * A header or metadata value; names are case-insensitive. Several of one name are joined by `, `. A call with different
   * `Authorization` headers is refused before `authenticate` is called.
   */
  header(name: string): string | undefined;
  /**
   * The token of `Authorization: Bearer …`, unchecked. `undefined` without such a header, and for other schemes.
   */
  readonly bearer: string | undefined;
  /** The address of the peer, without the port. `undefined` in process, and where a framework does not say. */
  readonly address: string | undefined;
  /** The certificate that the caller has shown over TLS, verified, or that a trusted proxy reports. */
  certificate(): PeerCertificate | undefined;
  /**
   * A parameter of the query string. `undefined` over gRPC and in process. Throws `invalidRequest` for different values.
   */
  query(name: string): string | undefined;
  /**
   * The request as the framework gave it, with what middleware before the agent left on it: `req` of Node and Express,
   * `request` of Fastify, the context of Koa and Hono, the `Request` of `fetch()`. `undefined` over gRPC and in process.
   */
  readonly request?: unknown;
}

/**
 * Identifies the caller. `undefined` refuses the call as `unauthenticated`. An `A2AError` that it throws is the caller's
 * error; anything else refuses the call as well, with the reason only in the log.
 */
export type Authenticate = (caller: Caller) => Principal | undefined | Promise<Principal | undefined>;

export interface IdentificationOptions {
  readonly authenticate: Authenticate | undefined;
  /** Holds callers to the security schemes of the card, instead of `authenticate`. */
  readonly gate: AuthGate | undefined;
  /** The certificate of a caller, shown to this process or to a trusted proxy. */
  readonly certificateOf: (head: CallHead) => PeerCertificate | undefined;
  readonly logger: Logger;
}

/** The first stage of a call: who it is, by headers alone. */
export function createIdentification(options: IdentificationOptions): Service["authenticate"] {
  const { authenticate, gate, certificateOf, logger } = options;
  const callerOf = (head: CallHead): Caller => new CallFacts(head, certificateOf);
  if (gate !== undefined)
    return (head, request) => identifyByGate(() => gate.identify(callerOf(head)), head, { request, logger });
  if (authenticate === undefined) return () => everyone;
  return async (head, request) => {
    const { binding } = head;
    let principal: Principal | undefined;
    try {
      principal = await authenticate(callerOf(head));
    } catch (error) {
      if (error instanceof A2AError) throw error;
      logger.info({ requestId: request.requestId, binding, err: error }, "a caller was refused");
      throw new A2AError("unauthenticated", "authentication is required", { cause: error });
    }
    if (typeof principal?.owner === "string" && principal.owner !== "") return { principal };
    if (principal !== undefined) {
      const fields = { requestId: request.requestId, binding };
      logger.error(fields, "authenticate gave no principal with an owner: the call is refused");
    }
    throw new A2AError("unauthenticated", "authentication is required");
  };
}

interface Refusal {
  readonly request: Parameters<Service["authenticate"]>[1];
  readonly logger: Logger;
}

// Without a promise when the gate needs none, as with a token that it knows.
function identifyByGate(
  identify: () => ReturnType<AuthGate["identify"]>,
  head: CallHead,
  refusal: Refusal,
): IdentifiedCaller | Promise<IdentifiedCaller> {
  try {
    const caller = identify();
    return caller instanceof Promise ? caller.catch((error: unknown) => refuse(error, head, refusal)) : caller;
  } catch (error) {
    return refuse(error, head, refusal);
  }
}

function refuse(error: unknown, { binding }: CallHead, { request: { requestId }, logger }: Refusal): never {
  if (error instanceof A2AError && error.code !== "unavailable") {
    logger.info({ requestId, binding, code: error.code, reason: error.message }, "a caller was refused");
  } else if (error instanceof A2AError) {
    logger.warn({ requestId, binding, err: error }, "a caller could not be authenticated");
  }
  throw error;
}

/** The value of a query parameter. Throws `invalidRequest` for different values: a proxy may have checked another one. */
function oneValue(name: string, values: readonly string[]): string | undefined {
  const [first] = values;
  if (values.every((value) => value === first)) return first;
  throw new A2AError("invalidRequest", `the query has several values of ${name} that differ: send one`);
}

/** What `authenticate` and schemes see of a call. Its members may be taken apart; those that few read cost nothing. */
class CallFacts implements Caller {
  readonly binding: CallOrigin;
  readonly header: Caller["header"];
  readonly #head: CallHead;
  readonly #certificateOf: IdentificationOptions["certificateOf"];

  constructor(head: CallHead, certificateOf: IdentificationOptions["certificateOf"]) {
    this.#head = head;
    this.#certificateOf = certificateOf;
    this.binding = head.binding;
    this.header = (name) => head.header(name.toLowerCase());
  }

  get bearer(): string | undefined {
    return /^Bearer +(\S+)$/i.exec(this.#head.header("authorization") ?? "")?.[1];
  }

  get address(): string | undefined {
    return this.#head.peer?.();
  }

  get query(): Caller["query"] {
    const { query } = this.#head;
    return (name) => (query === undefined ? undefined : oneValue(name, new URLSearchParams(query).getAll(name)));
  }

  get certificate(): Caller["certificate"] {
    return () => this.#certificateOf(this.#head);
  }

  get request(): unknown {
    return this.#head.address?.native;
  }
}
