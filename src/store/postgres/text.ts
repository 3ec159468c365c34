// The database keeps every text but those with a NUL in them, which callers may send in their ids all the same.

const nul = "\u0000";
const mark = "\uffff";

/** A value of a query, with its texts as the database can keep them. */
export function valueToDatabase(value: unknown): unknown {
  if (typeof value === "string") return textToDatabase(value);
  if (Array.isArray(value)) return value.map(valueToDatabase);
  return value;
}

function textToDatabase(text: string): string {
  if (!text.includes(nul) && !text.includes(mark)) return text;
  return text.replaceAll(mark, `${mark}1`).replaceAll(nul, `${mark}0`);
}

export function textFromDatabase(text: string): string {
  if (!text.includes(mark)) return text;
  return text.replaceAll(`${mark}0`, nul).replaceAll(`${mark}1`, mark);
}
