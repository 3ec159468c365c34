import { A2AError } from "../protocol/errors.js";

// A request with two credentials is ambiguous: a proxy may check one and the server use the other. `Authorization` has
// one value (RFC 9110, 11.6.2), of which Node silently keeps the first.

/** Headers that carry the credential of one caller. */
const singleHeaders: ReadonlySet<string> = new Set(["authorization", "proxy-authorization"]);

/** Whether a header, by its lower-case name, may have one value only. */
export function isSingleHeader(name: string): boolean {
  return singleHeaders.has(name);
}

/** The value of a header from its lines. Throws `invalidRequest` when lines of a credential header differ. */
export function joinLines(name: string, lines: readonly string[]): string | undefined {
  const [first] = lines;
  if (first === undefined || lines.length === 1) return first;
  if (!isSingleHeader(name)) return lines.join(name === "cookie" ? "; " : ", ");
  if (lines.some((line) => line !== first)) throw severalValues(name);
  return first;
}

/** The values of a header in Node's `rawHeaders`, where names and values alternate. */
export function listHeaderValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const lines: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const other = rawHeaders[index];
    if (other?.length === name.length && other.toLowerCase() === name) lines.push(rawHeaders[index + 1] ?? "");
  }
  return lines;
}

/**
 * Throws `invalidRequest` for a value of `Authorization` that a proxy has joined from several. After a comma, a credential
 * has its scheme and a space; a parameter has `=`.
 */
export function assertOneCredential(authorization: string): void {
  if (!authorization.includes(",")) return;
  const withoutTexts = authorization.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  if (/,[\t ]*[^\s,="]+[\t ]+[^\s,=]/.test(withoutTexts)) throw severalValues("authorization");
}

function severalValues(name: string): A2AError {
  return new A2AError("invalidRequest", `the request has several ${name} headers that differ: send one`);
}
