import type { IdentifiedCaller, Principal } from "../protocol/context.js";
import { A2AError, CallError, MaskedError } from "../protocol/errors.js";
import type { Message } from "../protocol/model.js";
import type { OperationName } from "../protocol/operations.js";
import type { AuthenticatedCaller, AuthOptions } from "./auth-options.js";
import { copyFrozen } from "./freeze.js";
import { assertSkillId, namedSkill } from "./named-skill.js";
import { decideAccess, listNeeds, type Needs, type Requirements } from "./requirements.js";
import {
  type AuthCall,
  CredentialError,
  createCheckError,
  type Identity,
  NoIdentityError,
  quotedString,
  type SchemeCheck,
  type SchemeEnvironment,
  SharedIdentity,
} from "./schemes/scheme.js";

// Holds a server's callers to the security schemes of its card (`auth`); `credential-source.ts` picks the credentials
// of a client.
//
// A call passes two stages. `identify` is the first, before the body is read: headers alone are checked, by every
// scheme that any requirement names. `authorize` is the second, once the request is decoded: the requirements of the
// operation and of the message's skill. A message to a task must also meet the requirements of the skills of the task's
// earlier messages (`authorizeAnswer`), which are checked where the task is read: `core/ownership/deliver.ts`, or
// `gateway/handler.ts`.

/** Holds calls to the requirements of `auth`. */
export interface AuthGate {
  /** Throws `unauthenticated` or `permissionDenied`, or a `MaskedError` when a check could not be made. */
  identify(call: AuthCall): IdentifiedCaller | Promise<IdentifiedCaller>;
}

/** The principal of callers whom an empty alternative lets in. */
const anonymous: Principal = Object.freeze({ owner: "anonymous" });

/** Opens the schemes that requirements name. The options have no problems. */
export function openGate(options: AuthOptions, environment: SchemeEnvironment): AuthGate {
  const { schemes, require = requireEach(schemes), operations = {}, skills = {}, skillOf = namedSkill } = options;
  const credentialNeeds = listNeeds(require).filter((needs) => needs.length > 0);
  // The empty alternative comes last: a caller with a credential wants to be known by it.
  const requiredNeeds = credentialNeeds.length < require.length ? [...credentialNeeds, []] : credentialNeeds;
  const byOperation = mapNeeds(operations);
  const bySkill = mapNeeds(skills);
  const hasSecondStage = byOperation.size + bySkill.size > 0;
  const furtherNeeds = [...byOperation.values(), ...bySkill.values()];
  const names = new Set([requiredNeeds, ...furtherNeeds].flat(2).map(([name]) => name));
  const checks = [...names].flatMap((name) => {
    const scheme = schemes[name];
    return scheme === undefined ? [] : [[name, scheme.open(environment)] as const];
  });

  const findSkillNeeds = (message: Message | undefined): readonly Needs[] | undefined => {
    const skill = message === undefined || bySkill.size === 0 ? undefined : skillOf(message);
    return skill === undefined ? undefined : bySkill.get(skill);
  };
  const findFurtherNeeds = (operation: OperationName, message: Message | undefined): readonly (readonly Needs[])[] => {
    if (message !== undefined && bySkill.size > 0 && options.skillOf === undefined) assertSkillId(message);
    return [byOperation.get(operation), findSkillNeeds(message)].filter((each) => each !== undefined);
  };

  const admit = (findings: Findings): IdentifiedCaller => {
    const refuse = (alternatives: readonly Needs[], missingScopes?: readonly string[]): A2AError =>
      refusal(alternatives, schemes, findings.failures, missingScopes);
    const check = (alternatives: readonly Needs[]): Needs => {
      const verdict = decideAccess(alternatives, findings.identities);
      // A caller with a wrong credential is not let in as one without.
      if (verdict.is === "met" && (verdict.needs.length > 0 || findings.failures.length === 0)) return verdict.needs;
      if (verdict.is !== "narrow" && findings.checkError !== undefined) throw toFailure(findings.checkError);
      throw refuse(alternatives, verdict.is === "narrow" ? verdict.missingScopes : undefined);
    };
    const principal = createPrincipal(check(requiredNeeds), findings.identities, options);
    const isKnown = findings.identities.size > 0;
    if (!hasSecondStage && isKnown) return { principal };
    return {
      principal,
      authorize(operation, message) {
        // Only for callers who are known (spec 3.1.11).
        if (operation === "getExtendedAgentCard" && !isKnown) throw refuse(credentialNeeds);
        for (const more of findFurtherNeeds(operation, message)) check(more);
      },
      authorizeAnswer:
        bySkill.size === 0
          ? undefined
          : (earlier) => {
              const furtherNeeds = earlier === undefined ? bySkill.values() : new Set(earlier.map(findSkillNeeds));
              for (const more of furtherNeeds) if (more !== undefined) check(more);
            },
    };
  };
  const [first, second] = checks;
  if (first !== undefined && second === undefined) return { identify: identifyBy(first, admit) };
  const isEnough =
    options.principal === undefined
      ? createSufficiencyCheck(credentialNeeds, checks, namesIn(furtherNeeds))
      : () => false;
  return {
    identify(call) {
      const findings = runChecks(checks, call, isEnough);
      return findings instanceof Promise ? findings.then(admit) : admit(findings);
    },
  };
}

// A custom scheme may throw an `A2AError` for the caller.
function toFailure(error: unknown): unknown {
  const isFinal = error instanceof NoIdentityError || (error instanceof A2AError && !(error instanceof CallError));
  return isFinal || error instanceof MaskedError ? error : createCheckError(error);
}

/** The identities and invalid credentials that the schemes found in a call. */
interface Findings {
  readonly identities: Map<string, Identity>;
  /** Invalid credentials, by scheme. */
  readonly failures: RefusedCredential[];
  /** The error of the first check that could not run. */
  checkError: unknown;
}

type Checks = readonly (readonly [name: string, check: SchemeCheck])[];

/** Whether the check at `place` may be skipped, given the identities found before it. */
type IsEnough = (place: number, identities: Findings["identities"]) => boolean;

/**
 * A caller with an identity is not checked by further schemes: an introspection endpoint would otherwise get every token
 * of the other schemes. The first satisfied alternative decides, so all before it must have been checked.
 */
function createSufficiencyCheck(
  credentialNeeds: readonly Needs[],
  checks: Checks,
  furtherNeeds: ReadonlySet<string>,
): IsEnough {
  const checkedBefore = checks.map((_, place) => {
    const names = new Set(checks.slice(0, place).map(([name]) => name));
    const firstOpen = credentialNeeds.findIndex((needs) => needs.some(([name]) => !names.has(name)));
    return firstOpen < 0 ? credentialNeeds : credentialNeeds.slice(0, firstOpen);
  });
  const isFurther = checks.map(([name]) => furtherNeeds.has(name));
  return (place, identities) =>
    isFurther[place] === false && decideAccess(checkedBefore[place] ?? [], identities).is === "met";
}

function namesIn(alternatives: readonly (readonly Needs[])[]): ReadonlySet<string> {
  return new Set(alternatives.flat(2).map(([name]) => name));
}

/** Runs every check that is needed. Returns no promise when each answers at once. */
function runChecks(checks: Checks, call: AuthCall, isEnough: IsEnough): Findings | Promise<Findings> {
  const findings: Findings = { identities: new Map(), failures: [], checkError: undefined };
  const pendingChecks: Promise<void>[] = [];
  const note = (name: string, identity: Identity | undefined): void => {
    if (identity !== undefined) findings.identities.set(name, identity);
  };
  const fail = (scheme: string, error: unknown): void => {
    if (error instanceof CredentialError) findings.failures.push({ scheme, error });
    else findings.checkError ??= error;
  };
  for (const [place, [name, check]] of checks.entries()) {
    if (findings.identities.size > 0 && isEnough(place, findings.identities)) continue;
    try {
      const identity = check(call);
      if (!(identity instanceof Promise)) note(name, identity);
      else
        pendingChecks.push(identity.then((result) => note(name, result)).catch((error: unknown) => fail(name, error)));
    } catch (error) {
      fail(name, error);
    }
  }
  return pendingChecks.length === 0 ? findings : Promise.all(pendingChecks).then(() => findings);
}

/**
 * The gate with a single scheme. A check that returns the same identity again, without a promise, has cached it; its
 * caller is cached with it.
 */
function identifyBy(
  [name, check]: Checks[number],
  admit: (findings: Findings) => IdentifiedCaller,
): AuthGate["identify"] {
  const callers = new WeakMap<Identity, IdentifiedCaller>();
  const noFindings = (): Findings => ({ identities: new Map(), failures: [], checkError: undefined });
  const admitIdentity = (identity: Identity | undefined): IdentifiedCaller =>
    admit(identity === undefined ? noFindings() : { ...noFindings(), identities: new Map([[name, identity]]) });
  const admitFailure = (error: unknown): IdentifiedCaller =>
    admit(
      error instanceof CredentialError
        ? { ...noFindings(), failures: [{ scheme: name, error }] }
        : { ...noFindings(), checkError: error },
    );
  return (call) => {
    let identity: ReturnType<SchemeCheck>;
    try {
      identity = check(call);
    } catch (error) {
      return admitFailure(error);
    }
    if (identity instanceof Promise) return identity.then(admitIdentity, admitFailure);
    if (identity === undefined) return admitIdentity(undefined);
    const caller = callers.get(identity) ?? admitIdentity(identity);
    callers.set(identity, caller);
    return caller;
  };
}

// Frozen, since calls with a known token share it.
function createPrincipal(needs: Needs, identities: ReadonlyMap<string, Identity>, options: AuthOptions): Principal {
  const [[scheme] = [""]] = needs;
  const identity = identities.get(scheme);
  if (identity === undefined) return anonymous;
  const { subject, issuer, scopes = [], claims = {} } = identity;
  const caller: AuthenticatedCaller = { scheme, subject, issuer, scopes, claims, identities };
  const ids = options.principal === undefined ? defaultPrincipal(caller) : copyFrozen(options.principal(caller));
  if (typeof ids.owner !== "string" || ids.owner === "")
    throw new TypeError("auth.principal must return an object whose owner is a text of one character or more");
  const proof = { scopes, claims };
  return Object.freeze({
    scheme,
    ...(identity instanceof SharedIdentity ? proof : copyFrozen(proof)),
    ...ids,
  });
}

function defaultPrincipal({ scheme, issuer = scheme, subject }: AuthenticatedCaller): Pick<Principal, "owner"> {
  return { owner: `${issuer}#${subject}` };
}

function requireEach(schemes: AuthOptions["schemes"]): Requirements {
  return Object.keys(schemes).map((name) => [name]);
}

function mapNeeds(requirements: Readonly<Record<string, Requirements | undefined>>): Map<string, readonly Needs[]> {
  return new Map(Object.entries(requirements).map(([name, each = []]) => [name, listNeeds(each)]));
}

/** An invalid credential. */
interface RefusedCredential {
  readonly scheme: string;
  readonly error: CredentialError;
}

/**
 * The refusal of a call that meets none of the alternatives: `permissionDenied` if only scopes are missing, else
 * `unauthenticated` with one challenge for each scheme of an alternative (RFC 9110, 11.6.1; RFC 6750, 3).
 */
function refusal(
  alternatives: readonly Needs[],
  schemes: AuthOptions["schemes"],
  failures: readonly RefusedCredential[],
  missingScopes: readonly string[] | undefined,
): A2AError {
  const names = [...new Set(alternatives.flat().map(([name]) => name))];
  if (missingScopes !== undefined) {
    const scope = missingScopes.join(" ");
    const challenge = `Bearer error="insufficient_scope", scope=${quotedString(scope)}`;
    return new A2AError("permissionDenied", `missing scopes: ${scope}`, { challenge, metadata: { scopes: scope } });
  }
  const challenges = names.map((name) => {
    const { challenge = "" } = schemes[name] ?? {};
    const failure = failures.find(({ scheme }) => scheme === name);
    return failure === undefined || !challenge.startsWith("Bearer") ? challenge : invalidToken(challenge, failure);
  });
  const [failure] = failures.filter(({ scheme }) => names.includes(scheme));
  const text = failure?.error.message ?? `authentication is required: ${describe(alternatives)}`;
  const challenge = [...new Set(challenges)].filter((each) => each !== "").join(", ");
  return new A2AError("unauthenticated", text, { challenge, cause: failure?.error });
}

function invalidToken(challenge: string, { error }: RefusedCredential): string {
  return `${challenge} error="invalid_token", error_description=${quotedString(error.message)}`;
}

function describe(alternatives: readonly Needs[]): string {
  return alternatives.map((needs) => needs.map(([name]) => name).join(" and ")).join(", or ");
}
