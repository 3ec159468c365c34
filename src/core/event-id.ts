/** Where in which task an opaque event id points to (design: a position, not a cursor that anybody may compute with). */
export interface EventPosition {
  readonly taskId: string;
  readonly incarnation: string;
  readonly seq: number;
}

/** What the ids of one task begin with. */
export function eventIdPrefix(taskId: string, incarnation: string): string {
  return `${taskId}.${incarnation}.`;
}

/** Writes an id: `eventIdPrefix(…)` and the record's number. */
export function eventId(prefix: string, seq: number): string {
  return prefix + seq.toString(36);
}

/** Reads an id back; `undefined` for anything that is none. */
export function parseEventId(id: string): EventPosition | undefined {
  if (id.length > 512) return undefined;
  const match = /^(.+)\.([^.]+)\.([0-9a-z]{1,10})$/.exec(id);
  if (match === null) return undefined;
  const [, taskId = "", incarnation = "", digits = ""] = match;
  const seq = Number.parseInt(digits, 36);
  return Number.isSafeInteger(seq) ? { taskId, incarnation, seq } : undefined;
}
