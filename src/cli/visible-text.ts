// Texts and names that agents choose, for a terminal and for names of files. Characters that are not seen but act could set
// the title of a terminal, fill the clipboard, hide lines, show text in another order than it has (`gpj.exe` for `exe.jpg`), or
// make two names look the same.

/** Scripts in which a joiner decides how letters look. */
const joiningScripts = [
  ...["Arabic", "Syriac", "Nko", "Mongolian", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil"],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala", "Tibetan", "Myanmar", "Khmer"],
];
const joining = joiningScripts.map((name) => `\\p{Script=${name}}`).join("");

/** What such characters are needed for: sequences of emoji, and letters that join. */
const needed = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
  `(?<=[${joining}])[\\u200c\\u200d]`,
].join("|");

/** Control characters, and what Unicode says to show nothing for: bidirectional formatting, zero width, fillers, tags. */
const unseen = String.raw`[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`;

const unseenChars = new RegExp(`(?!${needed})${unseen}`, "gu");

/** Replaces each character that is not seen, except those that emoji and joining scripts need. */
export function replaceUnseen(text: string, replacement: (char: string) => string): string {
  return text.replace(unseenChars, replacement);
}

/** The character as escapes of JSON. */
export function escapeChar(char: string): string {
  return [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}
