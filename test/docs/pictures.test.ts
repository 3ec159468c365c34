import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { read } from "./pages.js";

type Output = readonly [seconds: number, pane: string, text: string];

const recording = read("docs/pictures/terminal.jsonl")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Output);

describe("the pictures", () => {
  it("the pictures of the terminals show a whole report, though its agent was killed while it streamed", () => {
    const report = /const report = (\[[\s\S]*?\])/.exec(read("examples/durable/server.ts"))?.[1] ?? "";
    const lines = [...report.matchAll(/"(.*)"/g)].map(([, line]) => `${line}\r\n`);
    const words = recording.filter(([, pane, text]) => pane === "caller" && text !== "$ ");
    expect(words.map(([, , text]) => text).join("")).toBe(["node client.ts\r\n", ...lines].join(""));
    const killedAt = recording.find(([, , text]) => text.startsWith("Killed"))?.[0] ?? 0;
    expect(words.some(([seconds, , text]) => seconds < killedAt && text === "High")).toBe(true);
    expect(words.filter(([seconds]) => seconds > killedAt).length).toBeGreaterThan(10);
  });

  it.each(globSync("docs/pictures/*.svg"))(
    "the picture %s loads nothing, runs nothing, and has colors for dark pages",
    (file) => {
      const svg = read(file);
      expect(svg).not.toMatch(/<script|@import|href=|url\((?!#)/);
      expect(svg).toMatch(/prefers-color-scheme: ?dark/);
    },
  );
});
