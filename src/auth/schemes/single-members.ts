/**
 * Whether no object in a JSON text has a member twice. `JSON.parse` takes the last of them, other readers the first: what
 * one checks is then not what another acts on (RFC 8725, 2.4).
 */
export function hasSingleMembers(json: string): boolean {
  const objects: Set<string>[] = [];
  let depth = 0;
  for (const [token, name] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*(?=:)|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === "{") objects[depth++] = new Set();
    else if (token === "}") depth -= 1;
    else if (name !== undefined) {
      const members = objects[depth - 1];
      const key: unknown = JSON.parse(name);
      if (members?.has(String(key)) === true) return false;
      members?.add(String(key));
    }
  }
  return true;
}
