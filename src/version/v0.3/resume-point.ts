/**
 * The id of an event that a stream can go on behind, if it is one. Some servers number events by their clock, several alike,
 * and do not go on behind any of them.
 */
export function resumePoint(id: string | undefined): string | undefined {
  return id === undefined || /^\d*$/.test(id) ? undefined : id;
}
