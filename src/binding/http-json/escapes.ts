import { A2AError } from "../../protocol/errors.js";

/**
 * Reads percent escapes. Throws `invalidRequest` for those that are malformed or no UTF-8; a lenient reader would put
 * other characters in their place, and look for something that was not asked for.
 */
export function decodeEscapes(text: string, where: "path" | "query"): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new A2AError("invalidRequest", `the ${where} holds a malformed percent escape`, { cause });
  }
}

export function parseQuery(query: string): URLSearchParams {
  decodeEscapes(query, "query");
  return new URLSearchParams(query);
}
