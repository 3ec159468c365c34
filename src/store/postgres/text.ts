// The database accepts every text except those with NUL, which callers may still send in their ids.

const nul = "\u0000";
const mark = "\uffff";

/** A query value with its text in a form that the database accepts. */
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
