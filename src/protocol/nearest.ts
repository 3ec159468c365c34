/** The name that was probably meant: the same in another case, or with few letters changed. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const candidates = names
    .map((candidate) => ({ candidate, changes: changesBetween(lower, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.changes - b.changes);
  const [best] = candidates;
  return best !== undefined && best.changes <= Math.floor((name.length + 2) / 3) ? best.candidate : undefined;
}

/** Suggests a name for one that does not exist: `did you mean "Task"?`, or the list of names. */
export function suggestion(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return near === undefined ? `use one of ${names.join(", ")}` : `did you mean ${JSON.stringify(near)}?`;
}

/** How many letters must be changed, added or removed to make one word of the other (Levenshtein's distance). */
function changesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replacement = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(replacement, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
