import { bytesFromBase64 } from "../../protocol/base64.js";
import { assertOptions, func, type MembersOf, object, string } from "../../protocol/check/rules.js";
import { createIdentity, type VerifyResult } from "./api-key.js";
import { type AuthScheme, CredentialError, quotedString, readAuthorization } from "./scheme.js";

/** Options of `basic`: how names and passwords are checked. */
export interface BasicOptions {
  /**
   * Returns the owner, or an identity with scopes and claims; nothing for a wrong name or password. Called for every
   * call. Compare hashes, so that the time of a comparison reveals nothing.
   */
  readonly verify: (username: string, password: string) => VerifyResult | Promise<VerifyResult>;
  /** Shown by browsers that ask for the password. Default: `"agent"`. */
  readonly realm?: string | undefined;
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

const members: MembersOf<BasicOptions> = {
  verify: { rule: func, missing: "give a function that says who has a username and a password" },
  realm: { rule: string },
  description: { rule: string },
};
const rule = object(members);

/**
 * Accepts user names and passwords by HTTP basic authentication (RFC 7617). Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const password = basic({
 *   verify: async (username, password) => ((await checkPassword(username, password)) ? username : undefined),
 * });
 * const server = await serve({ card, agent, auth: { schemes: { password } } });
 * ```
 */
export function basic(options: BasicOptions): AuthScheme {
  assertOptions("basic", options, rule);
  const { verify, realm = "agent", description = "" } = options;
  return {
    declaration: { case: "httpAuthSecurityScheme", value: { scheme: "Basic", description } },
    challenge: `Basic realm=${quotedString(realm)}, charset="UTF-8"`,
    open: () => async (call) => {
      const credential = readAuthorization(call, "basic");
      if (credential === undefined) return undefined;
      const pair = readPair(credential);
      if (pair === undefined)
        throw new CredentialError("the credential of Basic is not base64 of a name and a password");
      return createIdentity(await verify(...pair), {
        what: "basic: verify",
        refusal: "the username or the password is wrong",
      });
    },
  };
}

function readPair(credential: string): [username: string, password: string] | undefined {
  const text = readText(credential);
  const end = text?.indexOf(":") ?? -1;
  return text === undefined || end < 0 ? undefined : [text.slice(0, end), text.slice(end + 1)];
}

function readText(credential: string): string | undefined {
  const bytes = bytesFromBase64(credential);
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
