import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { commandNames, createProgram } from "../../src/cli/program.js";
import { root, trivium, triviumAlone } from "../support/command.js";

const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { readonly version: string };

describe("trivium", () => {
  it("trivium prints its version", async () => {
    expect(await triviumAlone(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("trivium lists each command as the command's own help does", async () => {
    expect((await createProgram([])).helpInformation()).toBe((await createProgram(commandNames)).helpInformation());
  });

  it.each(commandNames)("trivium prints no default of %s that says nothing", async (name) => {
    const listed = (await createProgram(commandNames)).commands.find((each) => each.name() === name);
    for (const command of [listed, ...(listed?.commands ?? [])]) {
      expect(command?.helpInformation()).toMatch(/--help/);
      expect(command?.helpInformation()).not.toMatch(/default: (?:false|\{|\[)/);
    }
  });

  it("trivium loads nothing but commander for its help, and one command's code for the command", () => {
    const none = loadedBy(["--help"]);
    expect(none).toContain("commander");
    expect(none.filter((name) => !name.startsWith("cli/") && name !== "commander")).toEqual([]);
    expect(none.filter((name) => commandNames.includes(name.replace("cli/", "")))).toEqual([]);
    const one = loadedBy(["help", "logout"]);
    expect(one.filter((name) => commandNames.includes(name.replace("cli/", "")))).toEqual(["cli/logout"]);
  });

  it.each([
    { args: ["--help"], words: ["demo", "send", "call", "card", "gateway", "db"] },
    { args: ["demo", "--help"], words: ["--port", "--host", "--anonymous", "PORT", "TRIVIUM_LOG", "--access-log"] },
    { args: ["demo", "--help"], words: ["--store", "TRIVIUM_STORE", ".trivium/tasks.db"] },
    { args: ["db", "--help"], words: ["status", "migrate", "sql", "prune"] },
    {
      args: ["db", "prune", "--help"],
      words: ["--store", "--tasks-older-than", "(default: 30d)", "--tasks-max", "--logs-older-than"],
    },
    { args: ["call", "--help"], words: ["--binding", "--header", "--timeout", "--extension", "--last-event-id"] },
    {
      args: ["call", "--help"],
      words: ["--bearer", "TRIVIUM_BEARER", "--credential", "TRIVIUM_CREDENTIAL", "--verbose"],
    },
    { args: ["card", "--help"], words: ["--bearer", "--credential", "--header", "--timeout"] },
  ])("trivium explains itself on stdout: $args", async ({ args, words }) => {
    const { code, stdout, stderr } = await trivium(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const word of words) expect(stdout).toContain(word);
  });

  it.each([
    { args: [], reason: "Commands:" },
    { args: ["dance"], reason: "unknown command 'dance'" },
    { args: ["demo", "--colour"], reason: "unknown option '--colour'" },
    { args: ["demo", "--port", "65536"], reason: "A port is a number from 0 to 65535." },
    { args: ["demo", "--log-level", "loud"], reason: "Allowed choices are" },
    {
      args: ["demo", "--store", "mysql://root:s3cret@db/agent"],
      reason: "a store is memory, the path of a file, or postg",
    },
    { args: ["demo", "--store", "postgres://u:s3cret@[db/a"], reason: "the URL of the store cannot be read" },
    { args: ["db"], reason: "Commands:" },
    { args: ["db", "status", "--store", "memory"], reason: "memory is not a database" },
    { args: ["db", "migrate", "--store", ""], reason: "a store is memory, the path of a file, or postgres" },
    { args: ["db", "sql"], reason: "required option '--dialect <dialect>' not specified" },
    { args: ["db", "sql", "--dialect", "mysql"], reason: "Allowed choices are sqlite, postgres." },
    { args: ["db", "sql", "--dialect", "sqlite", "--from", "1.5"], reason: "It takes a whole number, 0 or more." },
    {
      args: ["db", "prune", "--store", "x.db", "--tasks-older-than", "30"],
      reason: "A time is a whole number with its unit",
    },
    {
      args: ["db", "prune", "--store", "x.db", "--sends-older-than", "never"],
      reason: "A time is a whole number with",
    },
    { args: ["db", "prune", "--store", "x.db", "--tasks-max", "-1"], reason: "It takes a whole number, 0 or more." },
    { args: ["call"], reason: "missing required argument 'url'" },
    { args: ["call", "nowhere", "GetTask"], reason: "nowhere is neither an http(s) URL nor the host:port of gRPC" },
    { args: ["call", "http://127.0.0.1", "Dance"], reason: "The operations are SendMessage," },
    { args: ["call", "http://127.0.0.1", "GetTask", "{id}"], reason: "the request is not JSON" },
    {
      args: ["call", "http://127.0.0.1", "GetTask", "--binding", "soap"],
      reason: "The bindings are JSONRPC, GRPC, HTTP+JSON, CONNECT.",
    },
    { args: ["call", "127.0.0.1:1", "GetTask", "--binding", "JSONRPC"], reason: "JSONRPC needs an http(s) URL" },
    { args: ["call", "http://127.0.0.1", "GetTask", "--header", "no"], reason: "It takes name:value." },
    { args: ["card", "127.0.0.1:1"], reason: "127.0.0.1:1 is not an http(s) URL" },
    { args: ["card", "http://127.0.0.1", "--bearer", "two words"], reason: "a bearer token is printable ASCII" },
    { args: ["card", "http://127.0.0.1", "--credential", "s3cret"], reason: "takes the form scheme=secret" },
    {
      args: ["call", "http://127.0.0.1/x", "GetTask", "--credential", "a=s3cret"],
      reason: "need the card of the agent",
    },
    { args: ["call", "http://127.0.0.1", "GetTask", "--timeout", "0"], reason: "whole number of milliseconds" },
  ])("trivium prints its usage on stderr for an invalid command line: $args", async ({ args, reason }) => {
    const { code, stdout, stderr } = await trivium(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(stderr).toContain("Usage: trivium");
    // Where a command is missing, all of them are listed.
    if (stderr.startsWith("error:")) expect(stderr.trim().split("\n")).toHaveLength(4);
    expect(stderr).not.toMatch(/s3cret|two words/);
  });
});

/** The sources and packages that the built command loads. */
function loadedBy(args: readonly string[]): readonly string[] {
  const program = fileURLToPath(new URL("loading-child.mjs", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, [program, ...args], { encoding: "utf8" }));
}
