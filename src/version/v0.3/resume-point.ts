/**
 * Returns an event id if a stream can resume after it. Some servers use timestamps as ids, with duplicates, and cannot
 * resume after any of them, so numeric ids are dropped.
 */
export function resumePoint(id: string | undefined): string | undefined {
  return id === undefined || /^\d*$/.test(id) ? undefined : id;
}
