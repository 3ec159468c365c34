// Makes texts and names of agents safe for terminals and file names. Invisible characters could set the title of a terminal,
// fill the clipboard, hide lines, reorder text (`exe.jpg` for `gpj.exe`), or make two names look the same.

/** Scripts in which a joiner changes the shape of letters. */
const joiningScripts = [
  ...["Arabic", "Syriac", "Nko", "Mongolian", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil"],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala", "Tibetan", "Myanmar", "Khmer"],
];
const joining = joiningScripts.map((name) => `\\p{Script=${name}}`).join("");

/** Legitimate uses of such characters: sequences of emoji, and joining letters. */
const needed = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
  `(?<=[${joining}])[\\u200c\\u200d]`,
].join("|");

/** Control characters, and those without a glyph: bidirectional formatting, zero width, fillers, tags. */
const unseen = String.raw`[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`;

const unseenChars = new RegExp(`(?!${needed})${unseen}`, "gu");

/** Replaces each invisible character, except those that emoji and joining scripts need. */
export function replaceUnseen(text: string, replacement: (char: string) => string): string {
  return text.replace(unseenChars, replacement);
}

/** The character as JSON escapes. */
export function escapeChar(char: string): string {
  return [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}
