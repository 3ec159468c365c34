import type { ServerContext } from "../../protocol/context.js";
import { resumeExtension, withEventId } from "../../protocol/extensions.js";
import type { StreamItem } from "../../protocol/operations.js";

/** Where in which task an opaque event id points to (design: a position, not a cursor to compute with). */
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

/** What a stream shows its items as: with their ids in them, when its caller has activated the resume extension. */
export function eventIdMarker({ extensions }: ServerContext): ((item: StreamItem) => StreamItem) | undefined {
  return extensions.length > 0 && extensions.includes(resumeExtension) ? marked : undefined;
}

const slot = Symbol("marked");

// Kept on the item, which all readers that keep up share: so the marked one is shared among those who want it, and what
// a version makes of it is made once.
function marked(item: StreamItem): StreamItem {
  const { response, id } = item;
  if (id === undefined) return item;
  const kept: StreamItem & { [slot]?: StreamItem } = item;
  kept[slot] ??= { response: withEventId(response, id), id };
  return kept[slot];
}
