/** The cases of every client about an agent that demands credentials, by the name in its report. */
export const credentialCases = {
  "credentials-token": "comes in with the right token",
  "credentials-key": "comes in with the right API key",
  "error-credentials-none": "is refused without credentials",
  "error-credentials-expired": "is refused with a token that has expired",
  "error-credentials-key": "is refused with an API key that the agent does not know",
} as const satisfies Record<string, string>;
