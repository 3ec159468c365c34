/**
 * Whether the name of a header, parameter or member has a word for secrets, such as `X-Amz-Signature`,
 * `client_assertion` or `otpCode`. Short words count only where they stand alone: `shipping` has no `pin`.
 */
export function hasSecretWord(name: string): boolean {
  // The unsplit name too: `DPoP` is one word.
  const words = `${name} ${name.replace(/([a-z\d])([A-Z])/g, "$1-$2")}`.toLowerCase();
  return /passw|passphrase|passcode|secret|credential|signature(?!s)|assertion|saml|jwt|(?<![a-z])(?:csrf|dpop|hmac|jwe|jws|otp|pin|pwd|sid|sig|totp|xsrf)(?![a-z])/.test(
    words,
  );
}
