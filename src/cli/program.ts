import { Command, Help, type Option } from "commander";
import { packageVersion } from "./package-version.js";

/** A command as the list of commands shows it. */
interface CommandRow {
  readonly name: string;
  /** What follows the name. */
  readonly usage: string;
  readonly description: string;
  /** Loads what gives the command its arguments, options and action. */
  load(): Promise<(command: Command) => void>;
}

const commands: readonly CommandRow[] = [
  {
    name: "serve",
    usage: "[options] <file>",
    description: "serve the agent that a module exports by default, until SIGINT or SIGTERM",
    load: async () => (await import("./serve.js")).serveCommand,
  },
  {
    name: "demo",
    usage: "[options]",
    description: "serve the text analyst, an agent to try things on, until SIGINT or SIGTERM",
    load: async () => (await import("./demo.js")).demoCommand,
  },
  {
    name: "send",
    usage: "[options] <url> [text]",
    description: "send a text to an agent and print the text of its answer as it comes",
    load: async () => (await import("./send.js")).sendCommand,
  },
  {
    name: "call",
    usage: "[options] <url> <operation> [json]",
    description: "call one operation of an agent and print its reply as JSON, a stream as one object a line",
    load: async () => (await import("./call.js")).callCommand,
  },
  {
    name: "card",
    usage: "[options] <url>",
    description: "print the card of an agent as JSON; with credentials the extended one, where there is one",
    load: async () => (await import("./card.js")).cardCommand,
  },
  {
    name: "gateway",
    usage: "[options] <url>",
    description:
      "serve an agent that runs somewhere else over every binding and in every version, until SIGINT or SIGTERM",
    load: async () => (await import("./gateway.js")).gatewayCommand,
  },
  {
    name: "logout",
    usage: "[url]",
    description: "delete the tokens that --login has stored: those for one agent, or all",
    load: async () => (await import("./logout.js")).logoutCommand,
  },
  {
    name: "db",
    usage: "",
    description: "look after the database in which an agent keeps its tasks",
    load: async () => (await import("./db.js")).dbCommand,
  },
  {
    name: "doctor",
    usage: "[options] [url]",
    description: "check this machine, a database or a running agent, and say how to mend what is wrong",
    load: async () => (await import("./doctor.js")).doctorCommand,
  },
];

/** The names of all commands. */
export const commandNames: readonly string[] = commands.map(({ name }) => name);

/**
 * Creates `trivium` with all its commands, of which those that `words` names can be run or print their help. The others
 * are only listed, since their code takes longer to load than all the rest.
 */
export async function createProgram(words: readonly string[]): Promise<Command> {
  const program = new Command("trivium")
    .description("Agents on the A2A (Agent2Agent) protocol.")
    .version(packageVersion())
    .configureHelp({ optionDescription })
    .exitOverride();
  for (const { name, usage, description, load } of commands) {
    const isNamed = words.includes(name);
    const command = program.command(isNamed ? name : `${name} ${usage}`).description(description);
    if (isNamed) (await load())(command);
  }
  shortenUsage(program, "trivium");
  return program;
}

/** Without the defaults that say nothing: a flag that is off, a list without entries. */
function optionDescription(this: Help, option: Option): string {
  return Help.prototype.optionDescription.call(this, option).replace(/ ?\(default: (?:false|\{\}|\[\])\)$/, "");
}

/** An error is followed by the form of its command alone: the page of `--help` would push it off the screen. */
function shortenUsage(command: Command, path: string): void {
  command.showHelpAfterError(`\nUsage: ${path} ${command.usage()}\nSee ${path} --help.`);
  for (const each of command.commands) shortenUsage(each, `${path} ${each.name()}`);
}
