import { UnreadableFile } from "./unreadable-file.js";

/**
 * Reads RFC 4180 CSV record by record, with any line ends; skips blank lines and a byte order mark. Throws
 * `UnreadableFile` for a quote that is out of place or never closed, and for a record whose width differs from the first.
 */
export function* csvRecords(content: string, separator: string): Generator<readonly string[]> {
  const field = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"\r\n${separator}]*))(${separator}|\r\n|[\r\n]|$)`, "y");
  field.lastIndex = content.startsWith("\uFEFF") ? 1 : 0;
  let width: number | undefined;
  let record: string[] = [];
  while (field.lastIndex < content.length || record.length > 0) {
    const start = field.lastIndex;
    const match = field.exec(content);
    if (match === null) throw unreadable(content, start, misplacedQuote(content, start));
    const [, quotedValue, bareValue = "", end] = match;
    record.push(quotedValue?.replaceAll('""', '"') ?? bareValue);
    if (end === separator) continue;
    const isBlank = record.length === 1 && quotedValue === undefined && bareValue === "";
    if (!isBlank) {
      width ??= record.length;
      if (record.length !== width)
        throw unreadable(content, start, `the field count is ${record.length}, in the header it is ${width}`);
      yield record;
    }
    record = [];
  }
}

function misplacedQuote(content: string, start: number): string {
  if (content[start] !== '"') return "a quote inside a field that is not quoted";
  const closedQuote = /"[^"]*(?:""[^"]*)*"(?!")/y;
  closedQuote.lastIndex = start;
  return closedQuote.test(content) ? "text behind a closing quote" : "a quote that is never closed";
}

function unreadable(content: string, offset: number, reason: string): UnreadableFile {
  const line = content.slice(0, offset).split(/\r\n|[\r\n]/).length;
  return new UnreadableFile(`invalid CSV at line ${line}: ${reason}`);
}
