import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");
const release = (name: string): string | undefined =>
  new RegExp(`"${name}": "(\\d.+)"`).exec(read("package.json"))?.[1];

describe("the documents", () => {
  it.each(["call-from-a-browser.md", "mount.md"])(
    "the guide docs/guides/%s names the releases that the tests run",
    (page) => {
      expect(read(`../../docs/guides/${page}`)).toContain(`Bun ${release("bun")} and Deno ${release("deno")}`);
    },
  );
});
