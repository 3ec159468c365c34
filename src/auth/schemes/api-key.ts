import { assertOptions, func, type MembersOf, object, oneOf, string } from "../../protocol/check/rules.js";
import { isHttpToken } from "../../protocol/http-token.js";
import {
  type AuthCall,
  type AuthScheme,
  CredentialError,
  type Identity,
  NoIdentityError,
  quotedString,
} from "./scheme.js";

/** A result of `verify`: an identity, its subject alone, or nothing for an unknown credential. */
export type VerifyResult = Identity | string | undefined | null | false;

/** Options of `apiKey`: where the key is, and how it is checked. */
export interface ApiKeyOptions {
  /** Where callers put the key. Over gRPC, headers are metadata, and there is no query. */
  readonly in: "header" | "query" | "cookie";
  /** The name of the header, the parameter or the cookie. */
  readonly name: string;
  /** Returns the owner of the key, or an identity with scopes and claims; nothing for an unknown key. */
  readonly verify: (key: string) => VerifyResult | Promise<VerifyResult>;
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

const members: MembersOf<ApiKeyOptions> = {
  in: { rule: oneOf("header", "query", "cookie"), missing: 'say where callers put the key, such as "header"' },
  name: { rule: string, missing: "give the name of the header, the parameter or the cookie" },
  verify: { rule: func, missing: "give a function that says whose key it is" },
  description: { rule: string },
};
const rule = object(members);

/** Longest key that is checked, in characters. */
const maxLength = 4096;

/**
 * Accepts API keys (spec 4.5.2). Look keys up by their hash, so that the time of a comparison reveals nothing. Throws a
 * `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const key = apiKey({
 *   in: "header",
 *   name: "x-api-key",
 *   verify: (key) => owners.get(createHash("sha256").update(key).digest("hex")),
 * });
 * const server = await serve({ card, agent, auth: { schemes: { key } } });
 * ```
 */
export function apiKey(options: ApiKeyOptions): AuthScheme {
  assertOptions("apiKey", options, rule);
  const { in: location, name, verify, description = "" } = options;
  if (!isHttpToken(name))
    throw new TypeError(`apiKey: name must be the name of a header or a parameter, not ${JSON.stringify(name)}`);
  return {
    declaration: { case: "apiKeySecurityScheme", value: { location, name, description } },
    challenge: `ApiKey in=${quotedString(location)}, name=${quotedString(name)}`,
    open: () => async (call) => {
      const key = readers[location](call, name);
      if (key === undefined || key === "") return undefined;
      if (key.length > maxLength) throw new CredentialError(`the API key is longer than ${maxLength} characters`);
      return createIdentity(await verify(key), { what: "apiKey: verify", refusal: "the API key is not known" });
    },
  };
}

/** Names the function for errors, and the refusal of unknown callers. */
interface Verifier {
  readonly what: string;
  readonly refusal: string;
}

/**
 * The identity that a `verify` returned. Throws a `CredentialError` when it returned none, and a `TypeError` when what
 * it returned has no subject: all such callers would be one owner.
 */
export function createIdentity(result: VerifyResult, { what, refusal }: Verifier): Identity {
  if (typeof result === "string" && result !== "") return { subject: result };
  if (typeof result !== "object" || result === null) throw new CredentialError(refusal);
  if (typeof result.subject === "string" && result.subject !== "") return result;
  throw new NoIdentityError(
    `${what} must return the name of the owner or an object with a subject, not an object without one`,
  );
}

const readers: Readonly<Record<ApiKeyOptions["in"], (call: AuthCall, name: string) => string | undefined>> = {
  header: (call, name) => oneKey(`header ${name}`, call.header(name.toLowerCase())?.split(", ") ?? []),
  query: (call, name) => call.query(name),
  cookie: (call, name) => oneKey(`cookie ${name}`, readCookies(call.header("cookie"), name)),
};

/** The key of a request. Different keys are refused: a proxy may have checked another one. */
function oneKey(place: string, keys: readonly string[]): string | undefined {
  const [first] = keys;
  if (keys.every((key) => key === first)) return first;
  throw new CredentialError(`the ${place} has several values that differ: send one API key`);
}

function readCookies(header: string | undefined, name: string): readonly string[] {
  return (header?.split(";") ?? []).flatMap((pair) => {
    const [key = "", ...value] = pair.split("=");
    const text = value.join("=").trim();
    return key.trim() === name ? [text.replace(/^"(.*)"$/, "$1")] : [];
  });
}
