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

/** The sections about commands by their names. */
const sections = new Map(
  page.split(/^## /m).flatMap((text) => {
    const [, name] = /^`trivium ([^`]+)`\n/.exec(text) ?? [];
    return name === undefined ? [] : [[name, text] as const];
  }),
);

function sectionOf(name: string): string {
  const section = sections.get(name);
  if (section === undefined) throw new Error(`the page has no section about trivium ${name}`);
  return section;
}

describe("docs/reference/command-line.md", () => {
  it("the reference of the command line has a section for every command, and none for a command that does not exist", () => {
    expect([...sections.keys()].toSorted()).toEqual(commandNames.toSorted());
  });

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

  it("the reference of the command line has every command of trivium db, and none that does not exist", () => {
    const names =
      program.commands.find((command) => command.name() === "db")?.commands.map((each) => each.name()) ?? [];
    const shown = [...sectionOf("db").matchAll(/^trivium db (\w+) /gm)].map(([, name]) => name);
    expect([...new Set(shown)].toSorted()).toEqual(names.toSorted());
    expect(names.length).toBeGreaterThan(4);
  });
});
