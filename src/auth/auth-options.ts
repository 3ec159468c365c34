import type { Principal } from "../protocol/context.js";
import type { Message } from "../protocol/model.js";
import type { OperationName } from "../protocol/operations.js";
import type { Requirements } from "./requirements.js";
import type { AuthScheme, Identity } from "./schemes/scheme.js";

/** Authentication by security schemes: the card lists the requirements, and every call is checked (spec 4.5, 7.3). */
export interface AuthOptions {
  /** Security schemes by name, as used in the card and in requirements. */
  readonly schemes: Readonly<Record<string, AuthScheme>>;
  /** Requirements of every call. Default: any one of the schemes. */
  readonly require?: Requirements | undefined;
  /** Additional requirements per operation, which the card cannot show. Default: none. */
  readonly operations?: Readonly<Partial<Record<OperationName, Requirements>>> | undefined;
  /** Additional requirements of messages to a skill, by the skill's id. The card shows them. Default: none. */
  readonly skills?: Readonly<Record<string, Requirements>> | undefined;
  /**
   * Returns the skill that a message is for; without one, only `require` and `operations` apply. Default: `skillId` in
   * the metadata of the message.
   */
  readonly skillOf?: ((message: Message) => string | undefined) | undefined;
  /**
   * Returns the principal of a call, which has a tenant only if you return one. Default: the owner is issuer and
   * subject together, `https://id.example#alice`; for keys and passwords the issuer is the scheme's name.
   */
  readonly principal?: ((caller: AuthenticatedCaller) => PrincipalIds) | undefined;
  /**
   * Stores the sender with each message of a task, so that `turn.principal` is complete after a restart or a wake and
   * in another process: `scheme`, `scopes`, what `principal` adds, and claims. `true`: all claims. A list: these
   * claims. Tokens are never stored. Default: false, and such a turn has only the owner and the tenant.
   */
  readonly keepClaims?: boolean | readonly string[] | undefined;
}

/** The ids of a principal. Other members that you return become part of it. */
export type PrincipalIds = Pick<Principal, "owner" | "tenant"> & Readonly<Record<string, unknown>>;

/** The identity of a caller, from the schemes of the alternative that it satisfies. */
export interface AuthenticatedCaller {
  /** The first scheme of the alternative; its identity is the one below. */
  readonly scheme: string;
  /** The subject of its identity. */
  readonly subject: string;
  /** The issuer of its identity. Default: `undefined`, for schemes whose `verify` named none. */
  readonly issuer: string | undefined;
  /** Scopes that its credential grants. */
  readonly scopes: readonly string[];
  /** Other claims of its credential. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** All proven identities of the call, by scheme. */
  readonly identities: ReadonlyMap<string, Identity>;
}
