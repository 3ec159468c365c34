import type { ServerContext } from "../../protocol/context.js";
import { resumeExtension, withEventId } from "../../protocol/extensions.js";
import type { StreamItem } from "../../protocol/operations.js";

/** The position that an opaque event id encodes. Readers compare it but do not compute with it. */
export interface EventPosition {
  readonly taskId: string;
  readonly incarnation: string;
  readonly seq: number;
}

/** The prefix of all event ids of one task. */
export function eventIdPrefix(taskId: string, incarnation: string): string {
  return `${taskId}.${incarnation}.`;
}

/** Encodes an id from `eventIdPrefix(…)` and the record's number. */
export function eventId(prefix: string, seq: number): string {
  return prefix + seq.toString(36);
}

/** Decodes an id; `undefined` if it is not one. */
export function parseEventId(id: string): EventPosition | undefined {
  if (id.length > 512) return undefined;
  const match = /^(.+)\.([^.]+)\.([0-9a-z]{1,10})$/.exec(id);
  if (match === null) return undefined;
  const [, taskId = "", incarnation = "", digits = ""] = match;
  const seq = Number.parseInt(digits, 36);
  return Number.isSafeInteger(seq) ? { taskId, incarnation, seq } : undefined;
}

/** Adds event ids to stream items when the caller has activated the resume extension. */
export function eventIdMarker({ extensions }: ServerContext): ((item: StreamItem) => StreamItem) | undefined {
  return extensions.length > 0 && extensions.includes(resumeExtension) ? mark : undefined;
}

const slot = Symbol("marked");

// Cached on the item, which all readers that keep up share, so that a marked item is built once and each version
// encodes it once.
function mark(item: StreamItem): StreamItem {
  const { response, id } = item;
  if (id === undefined) return item;
  const cache: StreamItem & { [slot]?: StreamItem } = item;
  cache[slot] ??= { response: withEventId(response, id), id };
  return cache[slot];
}
