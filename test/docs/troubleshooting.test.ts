import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { textsOf } from "../support/source-texts.js";
import { read } from "./pages.js";

// What the page quotes is what the source says: `…` is a hole of a template.

const page = "docs/guides/troubleshooting.md";
const sources = globSync("src/**/*.ts").map((path) => textsOf(path, read(path)).join("\n"));

interface Quoted {
  readonly text: string;
  readonly line: number;
}

/** The code in the first column of the tables, except for texts of Node and the compiler. */
function quotedTexts(): readonly Quoted[] {
  const lines = read(page).split("\n");
  const others = lines.indexOf("These texts come from Node and the compiler.");
  return lines.flatMap((line, at) => {
    const [, first = ""] = /^\| (.*?) \| /.exec(line) ?? [];
    if (at > others && !first.includes("trivium/")) return [];
    return [...first.matchAll(/``(.+?) ?``|`([^`]+)`/g)].map(([, double, single]) => ({
      text: double ?? single ?? "",
      line: at + 1,
    }));
  });
}

const isText = ({ text }: Quoted): boolean => text.includes(" ") && !/^\w+: /.test(text) && text !== "Failed to fetch";

/** A quote may begin or end with a hole that the source does not have there. */
const inSource = (text: string): boolean => {
  const bare = text.replaceAll(/^… | …$|: …$/g, "");
  return sources.some((source) => source.includes(bare));
};

describe("troubleshooting", () => {
  it.each(quotedTexts().filter(isText))(
    "line $line of the troubleshooting guide quotes a text of the source: $text",
    ({ text }) => {
      expect(inSource(text)).toBe(true);
    },
  );

  it("the troubleshooting guide quotes many texts, and the test notices one that is no more", () => {
    expect(quotedTexts().filter(isText).length).toBeGreaterThan(60);
    expect(inSource("port … on … is occupied")).toBe(false);
  });
});
