import { readableTls } from "./tls-text.js";

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
export function reasonOf(error: unknown): string {
  return readableTls(messageWithCauses(error));
}

function messageWithCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message =
    error.message || (error instanceof AggregateError ? error.errors.map(messageWithCauses).join(", ") : error.name);
  const cause = error.cause === undefined ? "" : messageWithCauses(error.cause);
  return cause === "" || message.includes(cause) ? message : `${message}: ${cause}`;
}
