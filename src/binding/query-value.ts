/** Returns a query parameter by name, ignoring case. */
export function queryValue(query: string, name: string): string | undefined {
  if (query === "") return undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}
