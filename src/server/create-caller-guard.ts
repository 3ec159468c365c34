import type { AuthOptions } from "../auth/auth-options.js";
import { forwardedCertificate, forwardedCertificateHeader } from "../auth/forwarded-certificate.js";
import type { AuthGate } from "../auth/gate.js";
import { authProblems, requirementProblems, type ServerFacts } from "../auth/problems.js";
import { needsOf } from "../auth/requirements.js";
import type { NodeFetch } from "../binding/fetch/node-fetch.js";
import type { CallHead, Service } from "../binding/service.js";
import { trustedPeers } from "../card/proxy.js";
import { type CardSecurity, schemesFromJson } from "../card/security.js";
import type { Clock } from "../protocol/async/clock.js";
import type { PeerCertificate } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { defaultFailedAttempts, FailedAttempts } from "../rates/failed-attempts.js";
import { type CallerGuard, type CallerGuardOptions, isAuthenticated } from "./caller-guard.js";
import { createIdentification } from "./identification.js";
import type { HostOptions } from "./options.js";
import { countedNetwork } from "./rate-limiter.js";

// What holds callers to the options `auth`, `authenticate` and `securityDeclaration`. Loaded where one of them is given.

/** The security schemes and requirements that the card lists; `undefined` when there are none. */
export function cardSecurity({
  auth,
  securityDeclaration,
}: Pick<HostOptions, "auth" | "securityDeclaration">): CardSecurity | undefined {
  if (auth === undefined && securityDeclaration === undefined) return undefined;
  const schemes = auth === undefined ? schemesFromJson({ ...securityDeclaration?.schemes }) : declarationsOf(auth);
  const { require = [...schemes.keys()].map((name) => [name]), skills = {} } = auth ?? securityDeclaration ?? {};
  return {
    schemes,
    requirements: needsOf(require),
    skills: new Map(Object.entries(skills).map(([id, requirements]) => [id, needsOf(requirements)])),
  };
}

function declarationsOf({ schemes }: AuthOptions): CardSecurity["schemes"] {
  return new Map(Object.entries(schemes).map(([name, { declaration }]) => [name, declaration]));
}

/** Throws a `TypeError` that lists how what is said about callers contradicts itself, the card or the server. */
export function assertAuth(options: CallerGuardOptions, skills: ServerFacts["skills"]): void {
  const { auth, authenticate, securityDeclaration, tls, trustProxy = false } = options;
  if (auth !== undefined && authenticate !== undefined) {
    throw new TypeError("give auth or authenticate, not both: each decides who calls");
  }
  if (securityDeclaration !== undefined && authenticate === undefined) {
    throw new TypeError(
      "securityDeclaration needs `authenticate`, which checks what is declared: give that too, or `auth`, which declares by itself",
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

export async function createCallerGuard(
  options: CallerGuardOptions,
  clock: Clock,
  logger: Logger,
): Promise<CallerGuard> {
  const { auth, authenticate, trustProxy = false } = options;
  // With `true` every caller would count as a proxy, and could write itself a certificate.
  const trusts = typeof trustProxy === "boolean" ? () => false : trustedPeers(trustProxy);
  const certificateOf = ({ header, peer, certificate }: CallHead): PeerCertificate | undefined => {
    // The certificate of a proxy's own connection is that of the proxy, not of its caller.
    return trusts(peer?.() ?? "") ? forwardedCertificate(header(forwardedCertificateHeader)) : certificate?.();
  };
  const fetches: NodeFetch[] = [];
  const gate = auth === undefined ? undefined : await loadGate(auth, { clock, logger }, fetches);
  const identify = createIdentification({ authenticate, gate, certificateOf, logger });
  return {
    identify: limitAttempts(identify, options, { clock, logger }),
    async close() {
      await Promise.all(fetches.map((fetch) => fetch.close()));
    },
  };
}

/** URLs in the options may point anywhere, URLs in responses only to the public internet. */
async function loadGate(
  auth: AuthOptions,
  parts: { readonly clock: Clock; readonly logger: Logger },
  fetches: NodeFetch[],
): Promise<AuthGate> {
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
  options: CallerGuardOptions,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Service["authenticate"] {
  const { failedAttempts: rate = defaultFailedAttempts } = options.rate ?? {};
  if (!isAuthenticated(options) || rate === false) return identify;
  // A call without credentials only asks what is required. With `authenticate` the two look the same.
  const isFailure = (error: unknown): boolean =>
    error instanceof A2AError &&
    error.code === "unauthenticated" &&
    (options.auth === undefined || error.cause !== undefined);
  const attempts = new FailedAttempts<CallHead>({
    rate,
    addressOf: countedNetwork(options.trustProxy, logger),
    isFailure,
    clock,
  });
  return (head, request) => attempts.run(head, (call) => identify(call, request));
}
