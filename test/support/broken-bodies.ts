const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const brokenUtf8 = (body: string, ...brokenBytes: number[]): Uint8Array =>
  Buffer.concat([Buffer.from(body.slice(0, body.indexOf("hello"))), bytes(...brokenBytes), Buffer.from('"}]}}}')]);

/** Bodies that no JSON binding can read as a request, each derived from a valid one. */
export const brokenBodies: readonly (readonly [what: string, body: (good: string) => string | Uint8Array])[] = [
  ["nothing", () => ""],
  ["spaces", () => "  \n"],
  ["half of it", (good) => good.slice(0, -3)],
  ["it twice", (good) => good + good],
  ["an open list of 8,000 levels", () => "[".repeat(8_000)],
  ["a closed list of 8,000 levels", () => "[".repeat(8_000) + "]".repeat(8_000)],
  ["an object of 2,000 levels", () => `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`],
  ["a comma at the end", (good) => good.replace(/}$/, ",}")],
  ["single quotes", (good) => good.replaceAll('"', "'")],
  ["a comment", (good) => `/* hi */${good}`],
  ["NaN", () => '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":NaN}'],
  ["a number", () => "7"],
  ["a text", () => '"text"'],
  ["null", () => "null"],
  ["an empty list", () => "[]"],
  ["a zero byte", () => bytes(0)],
  ["UTF-16", (good) => Buffer.from(good, "utf16le")],
  ["a byte that UTF-8 has not", (good) => brokenUtf8(good, 0xff)],
  ["an overlong slash in UTF-8", (good) => brokenUtf8(good, 0xc0, 0xaf)],
  ["half a surrogate pair in UTF-8", (good) => brokenUtf8(good, 0xed, 0xa0, 0x80)],
  ["a cut off character", (good) => brokenUtf8(good, 0xe2, 0x82)],
  ["gzip", () => bytes(0x1f, 0x8b, 8, 0, 0, 0, 0, 0)],
];
