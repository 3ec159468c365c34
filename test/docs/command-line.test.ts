import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { commandNames, createProgram } from "../../src/cli/program.js";
import { read } from "./pages.js";

const page = read("docs/reference/command-line.md");

const program = await createProgram(commandNames);

/** Options of a command and of those below it, as its help shows them. */
function optionsOf(command: Command): readonly string[] {
  return [...command.options.map(({ flags }) => flags), ...command.commands.flatMap(optionsOf)];
}

const commands = program.commands.map((command) => ({ name: command.name(), command }));

function sectionOf(name: string): string {
  return page.split(/^## /m).find((text) => text.startsWith(`\`trivium ${name}\``)) ?? "";
}

describe("docs/reference/command-line.md", () => {
  it.each(commands)(
    "the reference of the command line has all options of trivium $name, as its help shows them",
    ({ name, command }) => {
      const section = sectionOf(name);
      expect(optionsOf(command).filter((flags) => !section.includes(`\`${flags}\``))).toEqual([]);
    },
  );

  it.each(commands)("the reference of the command line has no option that trivium $name lacks", ({ name, command }) => {
    const shown = [...sectionOf(name).matchAll(/^\| `(--[^`]+)`/gm)].map(([, flags]) => flags);
    expect(shown.filter((flags) => !optionsOf(command).includes(flags ?? ""))).toEqual([]);
  });

  it("the reference of the command line has every command of trivium db", () => {
    const names =
      program.commands.find((command) => command.name() === "db")?.commands.map((each) => each.name()) ?? [];
    expect(names.filter((name) => !sectionOf("db").includes(`trivium db ${name} `))).toEqual([]);
    expect(names.length).toBeGreaterThan(4);
  });
});
