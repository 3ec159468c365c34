import { describe, expect, it } from "vitest";
import { printable } from "../../src/cli/print.js";
import { replaceUnseen } from "../../src/cli/visible-text.js";

const overrides = ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"];
const marks = ["\u200e", "\u200f", "\u061c"];
const zeroWidth = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e", "\u3164", "\u115f"];
const controls = ["\u0000", "\u0007", "\u001b", "\r", "\u007f", "\u0085", "\u009b", "\u2028", "\u2029", "\ufff9"];

describe("a character that is not seen", () => {
  it.each([...overrides, ...marks, ...zeroWidth, ...controls])(
    "a character that is not seen is an escape in a terminal: %j",
    (char) => {
      const escaped = `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
      expect(printable(`file${char}.txt`)).toBe(`file${escaped}.txt`);
      expect(JSON.parse(printable(JSON.stringify(`"${char}`)))).toBe(`"${char}`);
      expect(replaceUnseen(`file${char}.txt`, () => "_")).toBe("file_.txt");
    },
  );

  it("a character that is not seen is an escape for each of its halves, such as a tag that hides a text", () => {
    expect(printable("a\u{e0041}b")).toBe("a\\udb40\\udc41b");
    expect(replaceUnseen("a\u{e0041}b", () => "_")).toBe("a_b");
  });

  it.each([
    ["a family", "👨‍👩‍👧"],
    ["a profession with a color of skin", "👩🏽‍💻"],
    ["an emoji that is asked for", "❤️ 1️⃣ ✔︎"],
    ["a Persian word", "می‌خواهم"],
    ["a Hindi word", "क्‍ष"],
    ["lines and tabs", "one\n\ttwo"],
    ["right to left", "שלום مرحبا"],
  ])("a character that is not seen stays where a text needs it: %s", (_, text) => {
    expect(printable(text)).toBe(text);
  });

  it.each(["a\u200db", "👨\u200dexe", "می\u200c\u200cخ", "a\ufe0f"])(
    "a character that is not seen is an escape elsewhere: %j",
    (text) => {
      expect(printable(text)).toMatch(/\\u(?:200[cd]|fe0f)/);
    },
  );
});
