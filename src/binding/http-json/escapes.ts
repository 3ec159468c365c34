import { A2AError } from "../../protocol/errors.js";

/**
 * Decodes percent escapes. Throws `invalidRequest` if they are malformed or not UTF-8: lenient decoding would
 * substitute characters and look up something else.
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
