import type { Principal } from "../protocol/context.js";
import type { Message } from "../protocol/model.js";
import type { OperationName } from "../protocol/operations.js";
import type { Requirements } from "./requirements.js";
import type { AuthScheme, Identity } from "./schemes/scheme.js";

/** Who may call: the card shows it, and every call is held to it (spec 4.5, 7.3). */
export interface AuthOptions {
  /** Security schemes by the names that the card and the requirements give them. */
  readonly schemes: Readonly<Record<string, AuthScheme>>;
  /** Requirements of every call. Default: any one of the schemes. */
  readonly require?: Requirements | undefined;
  /** Further requirements of single operations, which the card cannot show. Default: none. */
  readonly operations?: Readonly<Partial<Record<OperationName, Requirements>>> | undefined;
  /** Further requirements of messages to a skill, by the skill's id; the card shows them. Default: none. */
  readonly skills?: Readonly<Record<string, Requirements>> | undefined;
  /**
   * Finds the skill that a message is for. Default: `skillId` in the metadata of the message. A message that names no
   * skill is held to no skill's requirement.
   */
  readonly skillOf?: ((message: Message) => string | undefined) | undefined;
  /**
   * Makes the principal of a call; a tenant only if it returns one. Default: the owner is issuer and subject together,
   * `https://id.example#alice`; for keys and passwords the issuer is the scheme's name.
   */
  readonly principal?: ((caller: AuthenticatedCaller) => PrincipalIds) | undefined;
  /**
   * Stores with each message of a task who sent it: `scheme`, `scopes`, what `principal` adds, and the claims, `true`
   * for all of them. Then `turn.principal` has them also after a restart or a wake and in another process. A list names
   * the claims to store. Tokens are never stored. Default: false, and such a turn knows owner and tenant alone.
   */
  readonly keepClaims?: boolean | readonly string[] | undefined;
}

/** The ids of a principal; anything else that is returned becomes part of it. */
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
  /** Everything else that its credential says. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Every identity that the call has proved, by scheme. */
  readonly identities: ReadonlyMap<string, Identity>;
}
