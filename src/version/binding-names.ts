// The names of the core bindings, as cards spell them and as agents in the field do.

const names: ReadonlyMap<string, string> = new Map([
  ["JSONRPC", "JSONRPC"],
  ["HTTPJSON", "HTTP+JSON"],
  ["REST", "HTTP+JSON"],
  ["GRPC", "GRPC"],
]);

/**
 * The name of a binding for the word that a card has for it: the three core ones in any case and with any separator, `REST`
 * for HTTP+JSON. A word for another binding stays as it is.
 */
export function bindingNamed(word: string): string {
  return names.get(word.replace(/[-_+/ ]/g, "").toUpperCase()) ?? word;
}
