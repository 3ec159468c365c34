import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "../../protocol/async/clock.js";
import type { CallOrigin, PeerCertificate } from "../../protocol/context.js";
import { MaskedError } from "../../protocol/errors.js";
import type { Fetch } from "../../protocol/fetch.js";
import type { Logger } from "../../protocol/logger.js";
import type { AgentCardSchema } from "../../protocol/model.js";
import { freezeJson } from "../freeze.js";

// A security scheme of a server has two parts: a declaration for the card, and a check of calls. A new scheme is a
// function in a file of this folder that returns an `AuthScheme`, exported by `index.ts`. How a client gives a secret
// to a scheme of a card is decided in `auth/scheme-part.ts`. Only a kind of scheme that the card of 1.0 does not have
// yet needs more, its other forms: `version/v1.0/sdk-forms.ts`, `version/v0.3/security.ts` and
// `version/v0.1/authentication.ts`.

/** A scheme as the card has it: the 1.0 form; older versions get their own (spec 4.5). */
export type SchemeDeclaration = NonNullable<
  NonNullable<MessageInitShape<typeof AgentCardSchema>["securitySchemes"]>[string]["scheme"]
>;

/** A call before its body is read, with the places where credentials may be. */
export interface AuthCall {
  /** The binding of the call, or `"in-process"`. */
  readonly binding: CallOrigin;
  /** A header or metadata value; names are case-insensitive. Several of one name are joined by `, `. */
  header(name: string): string | undefined;
  /**
   * A parameter of the query string; `undefined` over gRPC, which has none. Throws `invalidRequest` for different values.
   */
  query(name: string): string | undefined;
  /** The verified client certificate of the TLS connection, or the one that a trusted proxy reports. */
  certificate(): PeerCertificate | undefined;
}

/** The identity that a credential proves. */
export interface Identity {
  /** Id of the caller, unique at the issuer: the subject of a token, or the name of a user or a certificate. */
  readonly subject: string;
  /** Who issued it, such as the URL of an authorization server. Default: the scheme itself. */
  readonly issuer?: string | undefined;
  /** Scopes that the credential grants. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** Other claims of the credential. Default: none. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** The identity of a token, frozen with everything in it, since calls with the token share it. */
export class SharedIdentity implements Identity {
  readonly subject: string;
  readonly issuer: string | undefined;
  readonly scopes: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;

  /** `scopes` and `claims` were read from JSON and are shared with no one. */
  constructor({ subject, issuer, scopes = [], claims = {} }: Identity) {
    this.subject = subject;
    this.issuer = issuer;
    this.scopes = freezeJson(scopes);
    this.claims = freezeJson(claims);
    Object.freeze(this);
  }
}

/** Parts of the server that checks need. */
export interface SchemeEnvironment {
  /** Calls addresses from the options. */
  readonly fetch: Fetch;
  /** Calls addresses from a document of another server. */
  readonly foreignFetch: Fetch;
  /** The clock of the server. */
  readonly clock: Clock;
  /** The log of the server. */
  readonly logger: Logger;
}

/**
 * Finds the identity of a call. `undefined`: the call has no credential of this scheme. Throws a `CredentialError` for
 * an invalid one. The caller gets an `A2AError` unchanged. Any other error means that the check itself failed: the caller
 * gets `unavailable`, and the log has the reason. An identity that is returned a second time, without a promise, must not
 * have changed.
 */
export type SchemeCheck = (call: AuthCall) => Identity | undefined | Promise<Identity | undefined>;

/** A security scheme for `auth.schemes`: its declaration in the card, and its check of calls. */
export interface AuthScheme {
  /** The scheme in the card. */
  readonly declaration: SchemeDeclaration;
  /**
   * The challenge of `WWW-Authenticate` that asks for a credential (RFC 9110, 11.6.1), without parameters for errors.
   */
  readonly challenge: string;
  /** Whether it reads client certificates, which need TLS or a trusted proxy. Default: false. */
  readonly needsCertificate?: boolean | undefined;
  /** Certificates, in PEM, of the authorities that TLS verifies clients with. */
  readonly clientAuthorities?: readonly string[] | undefined;
  /** Called once, when the server starts. */
  open(environment: SchemeEnvironment): SchemeCheck;
}

/**
 * An invalid credential, thrown by the check of a scheme. The caller gets its message, so it must not repeat the
 * credential.
 *
 * @example
 * ```ts
 * const ticket = apiKey({
 *   in: "header",
 *   name: "x-ticket",
 *   verify(key) {
 *     const { owner, expires } = readTicket(key);
 *     if (expires < Date.now()) throw new CredentialError("the ticket has expired");
 *     return owner;
 *   },
 * });
 * ```
 */
export class CredentialError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CredentialError";
  }
}

/** A function of the program returned no identity: a bug in the program, so a retry does not help. */
export class NoIdentityError extends TypeError {}

/**
 * The error for a credential that could not be checked, through no fault of its sender. `retryAfterMs`: when the check may
 * succeed, in milliseconds.
 */
export function createCheckError(cause: unknown, retryAfterMs = 1000): MaskedError {
  const record = "a caller could not be authenticated";
  return new MaskedError("unavailable", "cannot verify credentials now, try again", { record, cause, retryAfterMs });
}

/** Longest credential that is looked at, in characters. */
const maxLength = 8192;

/** The credential of an HTTP authentication scheme in `Authorization`. `undefined` if there is none of this scheme. */
export function readAuthorization({ header }: AuthCall, scheme: string): string | undefined {
  const value = header("authorization");
  const end = value?.indexOf(" ") ?? -1;
  if (value === undefined || end < 0 || value.slice(0, end).toLowerCase() !== scheme) return undefined;
  const credential = value.slice(end).trim();
  if (credential.length > maxLength) throw new CredentialError(`the credential is longer than ${maxLength} characters`);
  return credential;
}

/** A quoted string of a challenge (RFC 9110, 5.6.4). */
export function quotedString(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, " ").replace(/["\\]/g, "\\$&")}"`;
}
