/**
 * What the agent of `servers/ours-guarded.ts` understands, at the beginning of a message of any length: `message` (a
 * reply), `ask` (a task that waits for its caller), and, with COUNT artifacts of BYTES each, `task` (a task that
 * completes), `replace` (the same, all under one id), `hold` (a task that works until it is canceled).
 */
const verbs = ["message", "ask", "task", "replace", "hold"] as const;

export interface Demand {
  readonly verb: (typeof verbs)[number];
  readonly count: number;
  readonly bytes: number;
}

/** Reads the demand at the beginning of a text. */
export function parseDemand(text: string): Demand {
  const [word, count = "0", bytes = "0"] = text.slice(0, 40).split(" ");
  const verb = verbs.find((candidate) => candidate === word);
  if (verb === undefined) throw new Error(`no such demand: ${text.slice(0, 40)}`);
  return { verb, count: Number(count), bytes: Number(bytes) };
}
