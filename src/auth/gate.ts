import type { IdentifiedCaller, Principal } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import type { Message } from "../protocol/model.js";
import type { OperationName } from "../protocol/operations.js";
import type { AuthenticatedCaller, AuthOptions } from "./auth-options.js";
import { frozenCopy } from "./frozen.js";
import { namedSkill } from "./named-skill.js";
import { type RefusedCredential, refusal } from "./refusal.js";
import { judge, type Needs, needsOf, type Requirements } from "./requirements.js";
import {
  type AuthCall,
  CredentialError,
  type Identity,
  type SchemeCheck,
  type SchemeEnvironment,
  SharedIdentity,
} from "./schemes/scheme.js";

/** Holds calls to the requirements of `auth`. */
export interface AuthGate {
  /** Throws `unauthenticated` or `permissionDenied`, and `unavailable` when a check could not be made. */
  identify(call: AuthCall): IdentifiedCaller | Promise<IdentifiedCaller>;
}

/** The principal of callers whom an empty alternative lets in. */
const anonymous: Principal = Object.freeze({ owner: "anonymous" });

/** Opens the schemes that requirements name. The options have no problems. */
export function openGate(options: AuthOptions, environment: SchemeEnvironment): AuthGate {
  const { schemes, require = eachOf(schemes), operations = {}, skills = {}, skillOf = namedSkill } = options;
  const proving = needsOf(require).filter((needs) => needs.length > 0);
  // The empty alternative comes last: a caller with a credential wants to be known by it.
  const required = proving.length < require.length ? [...proving, []] : proving;
  const byOperation = mapOf(operations);
  const bySkill = mapOf(skills);
  const hasSecondStage = byOperation.size + bySkill.size > 0;
  const further = [...byOperation.values(), ...bySkill.values()];
  const named = new Set([required, ...further].flat(2).map(([name]) => name));
  const checks = [...named].flatMap((name) => {
    const scheme = schemes[name];
    return scheme === undefined ? [] : [[name, scheme.open(environment)] as const];
  });

  const furtherOf = (operation: OperationName, message: Message | undefined): readonly (readonly Needs[])[] => {
    const skill = message && skillOf(message);
    const further = [byOperation.get(operation), skill === undefined ? undefined : bySkill.get(skill)];
    return further.filter((each) => each !== undefined);
  };

  const admit = (found: Findings): IdentifiedCaller => {
    const refuse = (alternatives: readonly Needs[], missing?: readonly string[]): A2AError =>
      refusal({ alternatives, schemes, failures: found.failures, missing });
    const check = (alternatives: readonly Needs[]): Needs => {
      const verdict = judge(alternatives, found.identities);
      // A caller with a wrong credential is not let in as one without.
      if (verdict.is === "met" && (verdict.needs.length > 0 || found.failures.length === 0)) return verdict.needs;
      if (verdict.is !== "narrow" && found.broken !== undefined) throw found.broken;
      throw refuse(alternatives, verdict.is === "narrow" ? verdict.missing : undefined);
    };
    const principal = principalOf(check(required), found.identities, options);
    const isKnown = found.identities.size > 0;
    if (!hasSecondStage && isKnown) return { principal };
    return {
      principal,
      authorize(operation, message) {
        // Only for callers who are known (spec 3.1.11).
        if (operation === "getExtendedAgentCard" && !isKnown) throw refuse(proving);
        for (const more of furtherOf(operation, message)) check(more);
      },
    };
  };
  const [first, second] = checks;
  if (first !== undefined && second === undefined) return { identify: identifyBy(first, admit) };
  const isEnough = options.principal === undefined ? enoughFor(proving, checks, namesIn(further)) : () => false;
  return {
    identify(call) {
      const found = findIn(checks, call, isEnough);
      return found instanceof Promise ? found.then(admit) : admit(found);
    },
  };
}

/** What the schemes found in a call. */
interface Findings {
  readonly identities: Map<string, Identity>;
  /** Credentials that do not do, by scheme. */
  readonly failures: RefusedCredential[];
  /** The first check that could not be made. */
  broken: unknown;
}

type Checks = readonly (readonly [name: string, check: SchemeCheck])[];

/** Whether the check at a place may be left out with what those before it have found. */
type IsEnough = (place: number, identities: Findings["identities"]) => boolean;

/**
 * A caller who is known already is not looked up elsewhere: an introspection endpoint would be asked about each call with
 * the token of another scheme. The first alternative that is met decides, so all before it must have been checked.
 */
function enoughFor(proving: readonly Needs[], checks: Checks, further: ReadonlySet<string>): IsEnough {
  const checkedBefore = checks.map((_, place) => {
    const names = new Set(checks.slice(0, place).map(([name]) => name));
    const open = proving.findIndex((needs) => needs.some(([name]) => !names.has(name)));
    return open < 0 ? proving : proving.slice(0, open);
  });
  const isFurther = checks.map(([name]) => further.has(name));
  return (place, identities) =>
    isFurther[place] === false && judge(checkedBefore[place] ?? [], identities).is === "met";
}

function namesIn(alternatives: readonly (readonly Needs[])[]): ReadonlySet<string> {
  return new Set(alternatives.flat(2).map(([name]) => name));
}

/** Runs every check that is needed. Returns no promise when each answers at once. */
function findIn(checks: Checks, call: AuthCall, isEnough: IsEnough): Findings | Promise<Findings> {
  const found: Findings = { identities: new Map(), failures: [], broken: undefined };
  const waiting: Promise<void>[] = [];
  const note = (name: string, identity: Identity | undefined): void => {
    if (identity !== undefined) found.identities.set(name, identity);
  };
  const fail = (scheme: string, error: unknown): void => {
    if (error instanceof CredentialError) found.failures.push({ scheme, error });
    else found.broken ??= error;
  };
  for (const [place, [name, check]] of checks.entries()) {
    if (found.identities.size > 0 && isEnough(place, found.identities)) continue;
    try {
      const identity = check(call);
      if (!(identity instanceof Promise)) note(name, identity);
      else waiting.push(identity.then((proved) => note(name, proved)).catch((error: unknown) => fail(name, error)));
    } catch (error) {
      fail(name, error);
    }
  }
  return waiting.length === 0 ? found : Promise.all(waiting).then(() => found);
}

/**
 * The same for a gate with one scheme. An identity that its check gives at once, and again, is that of a token which is
 * known: the caller is then known too.
 */
function identifyBy([name, check]: Checks[number], admit: (found: Findings) => IdentifiedCaller): AuthGate["identify"] {
  const known = new WeakMap<Identity, IdentifiedCaller>();
  const none = (): Findings => ({ identities: new Map(), failures: [], broken: undefined });
  const proved = (identity: Identity | undefined): IdentifiedCaller =>
    admit(identity === undefined ? none() : { ...none(), identities: new Map([[name, identity]]) });
  const failed = (error: unknown): IdentifiedCaller =>
    admit(
      error instanceof CredentialError
        ? { ...none(), failures: [{ scheme: name, error }] }
        : { ...none(), broken: error },
    );
  return (call) => {
    let identity: ReturnType<SchemeCheck>;
    try {
      identity = check(call);
    } catch (error) {
      return failed(error);
    }
    if (identity instanceof Promise) return identity.then(proved, failed);
    if (identity === undefined) return proved(undefined);
    const identified = known.get(identity) ?? proved(identity);
    known.set(identity, identified);
    return identified;
  };
}

// Frozen, since calls with a known token share it.
function principalOf(needs: Needs, identities: ReadonlyMap<string, Identity>, options: AuthOptions): Principal {
  const [[scheme] = [""]] = needs;
  const identity = identities.get(scheme);
  if (identity === undefined) return anonymous;
  const { subject, issuer, scopes = [], claims = {} } = identity;
  const caller: AuthenticatedCaller = { scheme, subject, issuer, scopes, claims, identities };
  const named = options.principal === undefined ? defaultPrincipal(caller) : frozenCopy(options.principal(caller));
  if (typeof named.owner !== "string" || named.owner === "")
    throw new TypeError("auth.principal must return an object whose owner is a text of one character or more");
  const proved = { scopes, claims };
  return Object.freeze({
    scheme,
    ...(identity instanceof SharedIdentity ? proved : frozenCopy(proved)),
    ...named,
  });
}

function defaultPrincipal({ scheme, issuer = scheme, subject }: AuthenticatedCaller): Pick<Principal, "owner"> {
  return { owner: `${issuer}#${subject}` };
}

function eachOf(schemes: AuthOptions["schemes"]): Requirements {
  return Object.keys(schemes).map((name) => [name]);
}

function mapOf(requirements: Readonly<Record<string, Requirements | undefined>>): Map<string, readonly Needs[]> {
  return new Map(Object.entries(requirements).map(([name, each = []]) => [name, needsOf(each)]));
}
