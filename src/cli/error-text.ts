import { UntrustedOriginError } from "../auth/oauth/untrusted-origin.js";
import { A2AError, readErrorMessage } from "../protocol/errors.js";

/** An error as text: its message, the other invalid fields, its causes and a remedy. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `error: ${String(error)}`;
  const name = error instanceof A2AError ? error.code : "error";
  const fields = error instanceof A2AError ? error.violations : [];
  const violations = fields.map(({ field, description }) => `${field} ${description}`);
  // The message usually names the first field.
  const lines = violations.filter((each) => !error.message.includes(each)).map((each) => `  ${each}`);
  const causes = listCauses(error)
    .filter((cause) => !error.message.includes(cause))
    .map((cause) => `  because: ${cause}`);
  return [`${name}: ${replaceOption(error)}`, ...lines, ...causes, ...findRemedies(error)].join("\n");
}

function findRemedies(error: Error): readonly string[] {
  if (!(error instanceof A2AError)) return [];
  if (error.message.includes("unless trustedOrigins lists"))
    return ["  the option for trustedOrigins is --trust <origin>"];
  if (error.retryAfterMs !== undefined) return [`  try again in ${Math.ceil(error.retryAfterMs / 1000)} s`];
  // The client wraps a refusal in its own error when no credential meets the card.
  const { code, cause } = error;
  if (code !== "unauthenticated" || !(cause instanceof A2AError) || cause instanceof UntrustedOriginError) return [];
  return ["  give --bearer <token>, --credential <scheme=secret>, --login <client-id>, or --cert and --key"];
}

/** The message, with the option of the command line instead of the client's. */
function replaceOption({ message, cause }: Error): string {
  // The client wraps it in its own error.
  return cause instanceof UntrustedOriginError ? `${cause.problem}: trust it with --trust ${cause.origin}` : message;
}

const maxCauses = 4;

function listCauses(error: Error): string[] {
  const causes: string[] = [];
  let cause = error.cause;
  while (cause instanceof Error && causes.length < maxCauses) {
    // When several addresses fail, Node has an error for each, and no message in the one around them.
    const text =
      cause.message || (cause instanceof AggregateError ? cause.errors.map(readErrorMessage).join(", ") : "");
    if (text !== "") causes.push(text);
    cause = cause.cause;
  }
  return causes;
}
