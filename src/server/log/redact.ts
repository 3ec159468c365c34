import { hasSecretWord } from "../../protocol/secret-names.js";

// What a record may not show. A logger that a program brings itself gets the fields as they are.

/** Replaces a secret. */
export const redaction = "[redacted]";

const secretName =
  /^(?:proxy-)?authorization$|^(?:set-)?cookies?$|(?:^|[a-z_-])token$|api[-_]?key$|private[-_]?key$|session[-_]?(?:cookie|key)$/i;

const secretTexts: readonly (readonly [form: RegExp, shown: string])[] = [
  // Credentials in a URL: the password, or a token in place of the name.
  [/:\/\/[^\s/?#@"']+@/g, `://${redaction}@`],
  [/\b(Bearer|Basic|DPoP)\s+[\w.~+/=-]{8,}/gi, `$1 ${redaction}`],
  [
    /([?&](?:[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|passcode|credential|signature|assertion|jwt|saml\w*|api[-_]?key)|key|sig|otp|pin|pwd|sid|code_verifier)=)[^&\s#"']+/gi,
    `$1${redaction}`,
  ],
];

/** Whether a member of this name holds a secret, such as `authorization`, `password` or `accessToken`. */
export function isSecretName(name: string): boolean {
  return secretName.test(name) || hasSecretWord(name);
}

/** Replaces what is recognised as a credential in a text: in URLs, and behind the name of an authentication scheme. */
export function withoutSecrets(text: string): string {
  let result = text;
  for (const [form, replacement] of secretTexts) result = result.replace(form, replacement);
  return result;
}
