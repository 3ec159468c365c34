import type { AuthOptions } from "../auth/auth-options.js";
import { forwardedCertificate, forwardedCertificateHeader } from "../auth/forwarded-certificate.js";
import type { AuthGate } from "../auth/gate.js";
import { authProblems, requirementProblems, type ServerFacts } from "../auth/problems.js";
import { listNeeds } from "../auth/requirements.js";
import type { NodeFetch } from "../binding/fetch/node-fetch.js";
import type { CallHead, Service } from "../binding/service.js";
import { createPeerCheck } from "../card/proxy.js";
import { type CardSecurity, schemesFromJson } from "../card/security.js";
import type { Clock } from "../protocol/async/clock.js";
import type { CallOrigin, PeerCertificate, Principal } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { defaultFailedAttempts, FailedAttempts } from "../rates/failed-attempts.js";
import type { Authenticate, Authentication, AuthenticationOptions, Caller } from "./authentication.js";
import { createNetworkReader } from "./network-reader.js";
import type { BaseServerOptions } from "./options.js";

// Enforces the options `auth`, `authenticate` and `securityDeclaration`, and lists the requirements in the card. Apart
// from `authentication.ts` since it is loaded only if one of them is given, and the gate only with `auth`.

/** The security schemes and requirements that the card lists; `undefined` when there are none. */
export function cardSecurity({ auth, securityDeclaration }: BaseServerOptions): CardSecurity | undefined {
  if (auth === undefined && securityDeclaration === undefined) return undefined;
  const schemes = auth === undefined ? schemesFromJson({ ...securityDeclaration?.schemes }) : listDeclarations(auth);
  const { require = [...schemes.keys()].map((name) => [name]), skills = {} } = auth ?? securityDeclaration ?? {};
  return {
    schemes,
    requirements: listNeeds(require),
    skills: new Map(Object.entries(skills).map(([id, requirements]) => [id, listNeeds(requirements)])),
  };
}

function listDeclarations({ schemes }: AuthOptions): CardSecurity["schemes"] {
  return new Map(Object.entries(schemes).map(([name, { declaration }]) => [name, declaration]));
}

/** Throws a `TypeError` that lists how what is said about callers contradicts itself, the card or the server. */
export function assertAuth(options: AuthenticationOptions, skills: ServerFacts["skills"]): void {
  const { auth, authenticate, securityDeclaration, tls, trustProxy = false } = options;
  if (auth !== undefined && authenticate !== undefined) {
    throw new TypeError("set `auth` or `authenticate`, not both: each identifies the caller");
  }
  if (securityDeclaration !== undefined && authenticate === undefined) {
    throw new TypeError(
      "securityDeclaration needs `authenticate`: set it too, or use `auth`, whose schemes are listed in the card",
    );
  }
  const hasProxy = typeof trustProxy !== "boolean" && trustProxy.length > 0;
  const facts = { skills, hasCertificates: tls !== undefined || hasProxy };
  const problems = [
    ...(auth === undefined ? [] : authProblems(auth, facts)),
    ...(securityDeclaration === undefined
      ? []
      : requirementProblems("securityDeclaration", securityDeclaration, facts)),
  ];
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
}

interface Parts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Identifies callers by security schemes. */
export async function authenticateBySchemes(
  auth: AuthOptions,
  options: AuthenticationOptions,
  parts: Parts,
): Promise<Authentication> {
  const readCertificate = createCertificateReader(options);
  const fetches: NodeFetch[] = [];
  const gate = await loadGate(auth, parts, fetches);
  // Without a promise when the gate needs none, as with a token that it knows.
  const identify: Service["authenticate"] = (head, request) => {
    const refuse = (error: unknown): never => {
      logRefusal(error, head, request.requestId, parts.logger);
      throw error;
    };
    try {
      const caller = gate.identify(new CallFacts(head, readCertificate));
      return caller instanceof Promise ? caller.catch(refuse) : caller;
    } catch (error) {
      return refuse(error);
    }
  };
  return {
    identify: limitAttempts(identify, options, parts),
    async close() {
      await Promise.all(fetches.map((fetch) => fetch.close()));
    },
  };
}

/** Identifies callers by the function of the program. */
export function authenticateByFunction(
  authenticate: Authenticate,
  options: AuthenticationOptions,
  parts: Parts,
): Authentication {
  const { logger } = parts;
  const readCertificate = createCertificateReader(options);
  const identify: Service["authenticate"] = async (head, request) => {
    const { binding } = head;
    let principal: Principal | undefined;
    try {
      principal = await authenticate(new CallFacts(head, readCertificate));
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
  return { identify: limitAttempts(identify, options, parts), close: async () => {} };
}

/** Reads the certificate of a caller, shown to this process or to a trusted proxy. */
type ReadCertificate = (head: CallHead) => PeerCertificate | undefined;

function createCertificateReader({ trustProxy = false }: AuthenticationOptions): ReadCertificate {
  // With `true` every caller would count as a proxy, and could write itself a certificate.
  const trusts = typeof trustProxy === "boolean" ? () => false : createPeerCheck(trustProxy);
  return ({ header, peer, certificate }) => {
    // The certificate of a proxy's own connection is that of the proxy, not of its caller.
    return trusts(peer?.() ?? "") ? forwardedCertificate(header(forwardedCertificateHeader)) : certificate?.();
  };
}

/** URLs in the options may point anywhere, URLs in responses only to the public internet. */
async function loadGate(auth: AuthOptions, parts: Parts, fetches: NodeFetch[]): Promise<AuthGate> {
  const [{ openGate }, { addressPolicy }, { createNodeFetch }] = await Promise.all([
    import("../auth/gate.js"),
    import("../binding/fetch/address-policy.js"),
    import("../binding/fetch/node-fetch.js"),
  ]);
  const fetch = createNodeFetch();
  const foreignFetch = createNodeFetch({ policy: addressPolicy("public", "an issuer names") });
  fetches.push(fetch, foreignFetch);
  return openGate(auth, { fetch, foreignFetch, ...parts });
}

/** Limits failed attempts to authenticate. */
function limitAttempts(
  identify: Service["authenticate"],
  options: AuthenticationOptions,
  { clock, logger }: Parts,
): Service["authenticate"] {
  const { failedAttempts: rate = defaultFailedAttempts } = options.rate ?? {};
  if (rate === false) return identify;
  // A call without credentials only asks what is required. With `authenticate` the two look the same.
  const isFailure = (error: unknown): boolean =>
    error instanceof A2AError &&
    error.code === "unauthenticated" &&
    (options.auth === undefined || error.cause !== undefined);
  const attempts = new FailedAttempts<CallHead>({
    rate,
    readAddress: createNetworkReader(options.trustProxy, logger),
    isFailure,
    clock,
  });
  return (head, request) => attempts.run(head, (call) => identify(call, request));
}

function logRefusal(error: unknown, { binding }: CallHead, requestId: string, logger: Logger): void {
  if (!(error instanceof A2AError)) return;
  if (error.code === "unavailable") {
    logger.warn({ requestId, binding, err: error }, "a caller could not be authenticated");
  } else {
    logger.info({ requestId, binding, code: error.code, reason: error.message }, "a caller was refused");
  }
}

/** The value of a query parameter. Throws `invalidRequest` for different values: a proxy may have checked another one. */
function readOneValue(name: string, values: readonly string[]): string | undefined {
  const [first] = values;
  if (values.every((value) => value === first)) return first;
  throw new A2AError("invalidRequest", `the query has several values of ${name} that differ: send one`);
}

/** A call as `authenticate` and the schemes see it. Members can be destructured; rarely read ones are lazy. */
class CallFacts implements Caller {
  readonly binding: CallOrigin;
  readonly header: Caller["header"];
  readonly #head: CallHead;
  readonly #readCertificate: ReadCertificate;

  constructor(head: CallHead, readCertificate: ReadCertificate) {
    this.#head = head;
    this.#readCertificate = readCertificate;
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
    return (name) => (query === undefined ? undefined : readOneValue(name, new URLSearchParams(query).getAll(name)));
  }

  get certificate(): Caller["certificate"] {
    return () => this.#readCertificate(this.#head);
  }

  get request(): unknown {
    return this.#head.address?.native;
  }
}
