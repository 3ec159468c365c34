/** The result of one check. */
export interface Finding {
  /** Name of the check: `node`, `store schema`. */
  readonly check: string;
  /** `skipped`: the check was not possible, or needs an option. */
  readonly result: "ok" | "warning" | "failed" | "skipped";
  /** The state that the check found. */
  readonly seen: string;
  /** How to fix it. */
  readonly remedy?: string | undefined;
}

type Report = (seen: string, remedy?: string) => Finding;

/** Makes the findings of one check. */
export function findings(check: string): Readonly<Record<Finding["result"], Report>> {
  const report =
    (result: Finding["result"]): Report =>
    (seen, remedy) =>
      remedy === undefined ? { check, result, seen } : { check, result, seen, remedy };
  return { ok: report("ok"), warning: report("warning"), failed: report("failed"), skipped: report("skipped") };
}

/** The finding as lines for people. */
export function findingText({ check, result, seen, remedy }: Finding): string {
  const line = `${result.padEnd(8)}${check}: ${seen}`;
  return remedy === undefined ? line : `${line}\n${" ".repeat(8)}-> ${remedy.replaceAll("\n", `\n${" ".repeat(11)}`)}`;
}

/** The message of an error with its causes, in one line. */
export function describeCause(error: unknown): string {
  return explainTlsErrors(messageWithCauses(error));
}

function messageWithCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message =
    error.message || (error instanceof AggregateError ? error.errors.map(messageWithCauses).join(", ") : error.name);
  const cause = error.cause === undefined ? "" : messageWithCauses(error.cause);
  return cause === "" || message.includes(cause) ? message : `${message}: ${cause}`;
}

/** Texts of OpenSSL and their meanings. The first match counts. */
const meanings: readonly (readonly [said: RegExp, meaning: string])[] = [
  [/wrong version number|packet length too long|http request|record layer failure/i, "the port does not speak TLS"],
  [/certificate required|peer did not return a certificate/i, "the server requires a client certificate"],
  [/unknown ca/i, "the server does not know the authority of the client certificate"],
  [
    /bad certificate|certificate unknown|certificate expired|certificate revoked/i,
    "the server refuses the client certificate",
  ],
  [
    /protocol version|unsupported protocol|version too low/i,
    "the server and this machine have no version of TLS in common",
  ],
  [
    /no shared cipher|no ciphers|handshake failure/i,
    "the server and this machine have no cipher in common, or the server requires a client certificate",
  ],
  [/unrecognized name/i, "the server has no certificate for this name"],
  [/unexpected eof/i, "the connection was closed during the handshake"],
];

/** An error of OpenSSL within the message of another error: library, function, reason, file and line. */
const raw =
  /(?:\b\w+ EPROTO )?(?:\b[0-9A-F]+:)?error:[0-9A-F]+:[^:\n]*:[^:\n]*:([^:\n]+)(?::[^:\n]*:\d+:?[^\n]*)?\s*/gi;

/** Replaces errors of OpenSSL in a text by their meanings. */
export function explainTlsErrors(text: string): string {
  return text.replace(
    raw,
    (_, reason: string) => meanings.find(([said]) => said.test(reason))?.[1] ?? `TLS failed: ${reason.trim()}`,
  );
}
