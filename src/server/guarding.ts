import type { TlsOptions } from "node:tls";
import type { AuthOptions } from "../auth/auth-options.js";
import { forwardedCertificate, forwardedCertificateHeader } from "../auth/forwarded-certificate.js";
import { type AuthGate, openGate } from "../auth/gate.js";
import { type AuthSurroundings, authProblems, requirementProblems } from "../auth/problems.js";
import { needsOf } from "../auth/requirements.js";
import { addressPolicy } from "../binding/fetch/address-policy.js";
import { createNodeFetch, type NodeFetch } from "../binding/fetch/node-fetch.js";
import type { CallHead, Service } from "../binding/service.js";
import { trustedPeers } from "../card/proxy.js";
import { type CardSecurity, schemesFromJson } from "../card/security.js";
import type { Clock } from "../protocol/async/clock.js";
import type { PeerCertificate } from "../protocol/context.js";
import type { Logger } from "../protocol/logger.js";
import { createIdentification } from "./identification.js";
import type { HostOptions, ListenOptions } from "./options.js";

type GuardingOptions = Pick<HostOptions & ListenOptions, "auth" | "authenticate" | "declares" | "trustProxy" | "tls">;

/** Whether each call is authenticated. */
export function isAuthenticated({ auth, authenticate }: Pick<HostOptions, "auth" | "authenticate">): boolean {
  return auth !== undefined || authenticate !== undefined;
}

/** What the card says about who may call; `undefined` when it says nothing. */
export function cardSecurity({ auth, declares }: Pick<HostOptions, "auth" | "declares">): CardSecurity | undefined {
  if (auth === undefined && declares === undefined) return undefined;
  const schemes = auth === undefined ? schemesFromJson({ ...declares?.schemes }) : declarationsOf(auth);
  const { require = [...schemes.keys()].map((name) => [name]), skills = {} } = auth ?? declares ?? {};
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
export function assertAuth(options: GuardingOptions, skills: AuthSurroundings["skills"]): void {
  const { auth, authenticate, declares, tls, trustProxy = false } = options;
  if (auth !== undefined && authenticate !== undefined) {
    throw new TypeError("give auth or authenticate, not both: each decides who calls");
  }
  if (declares !== undefined && authenticate === undefined) {
    throw new TypeError("declares is what `authenticate` checks: give it too, or `auth`, which declares by itself");
  }
  const hasProxy = typeof trustProxy !== "boolean" && trustProxy.length > 0;
  const around = { skills, hasCertificates: tls !== undefined || hasProxy };
  const problems = [
    ...(auth === undefined ? [] : authProblems(auth, around)),
    ...(declares === undefined ? [] : requirementProblems("declares", declares, around)),
  ];
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
}

/**
 * The TLS options, which ask callers for certificates where a scheme reads them. A caller may come without one: the card is
 * public, and another alternative may do.
 */
export function tlsWithAuth({ tls, auth }: Pick<GuardingOptions, "tls" | "auth">): TlsOptions | undefined {
  const schemes = Object.values(auth?.schemes ?? {}).filter(({ needsCertificate }) => needsCertificate === true);
  if (tls === undefined || schemes.length === 0) return tls;
  const authorities = schemes.flatMap(({ clientAuthorities = [] }) => clientAuthorities);
  const own = tls.ca === undefined ? [] : [tls.ca].flat();
  return { ...tls, ca: [...own, ...authorities], requestCert: true, rejectUnauthorized: false };
}

/** The first stage of every call. */
export interface Guarding {
  readonly identify: Service["authenticate"];
  /** Closes the connections to authorization servers. */
  close(): Promise<void>;
}

export function createGuarding(options: GuardingOptions, clock: Clock, logger: Logger): Guarding {
  const { auth, authenticate, trustProxy = false } = options;
  // With `true` every caller would count as a proxy, and could write itself a certificate.
  const trusts = typeof trustProxy === "boolean" ? () => false : trustedPeers(trustProxy);
  const certificateOf = ({ header, peer, certificate }: CallHead): PeerCertificate | undefined => {
    const isForwarded = trusts(peer?.() ?? "");
    return (isForwarded ? forwardedCertificate(header(forwardedCertificateHeader)) : undefined) ?? certificate?.();
  };
  const fetches: NodeFetch[] = [];
  const gate = auth === undefined ? undefined : openedGate(auth, clock, fetches);
  return {
    identify: createIdentification({ authenticate, gate, certificateOf, logger }),
    async close() {
      await Promise.all(fetches.map((fetch) => fetch.close()));
    },
  };
}

/** An address that the options name may be anywhere, one that an answer names only on the internet. */
function openedGate(auth: AuthOptions, clock: Clock, fetches: NodeFetch[]): AuthGate {
  const fetch = createNodeFetch();
  const foreignFetch = createNodeFetch({ policy: addressPolicy("public", "an issuer names") });
  fetches.push(fetch, foreignFetch);
  return openGate(auth, { fetch, foreignFetch, clock });
}
