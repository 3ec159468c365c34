import { Command, Help, type Option } from "commander";
import { packageVersion } from "./package-version.js";

// The command `trivium`. A command is a file in this folder and a row below; the code of a command is loaded only when
// it is named. A test asks for its section in `docs/reference/command-line.md`, with each of its options.

/** A command in the list of commands. */
interface CommandRow {
  readonly name: string;
  /** Arguments after the name. */
  readonly usage: string;
  readonly description: string;
  /** Loads the function that adds arguments, options and action to the command. */
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
    description: "serve the text analyst, an agent for first tries, until SIGINT or SIGTERM",
    load: async () => (await import("./demo.js")).demoCommand,
  },
  {
    name: "send",
    usage: "[options] <url> [text]",
    description: "send a text to an agent and print the text of its answer as it arrives",
    load: async () => (await import("./send.js")).sendCommand,
  },
  {
    name: "call",
    usage: "[options] <url> <operation> [json]",
    description: "call an operation of an agent and print its reply as JSON, of a stream one object a line",
    load: async () => (await import("./call.js")).callCommand,
  },
  {
    name: "card",
    usage: "[options] <url>",
    description: "print the card of an agent as JSON; with credentials the extended card, if it has one",
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
    description: "migrate, prune and inspect the database of an agent",
    load: async () => (await import("./db.js")).dbCommand,
  },
  {
    name: "doctor",
    usage: "[options] [url]",
    description: "check this machine, a database or a running agent, with a remedy for each problem",
    load: async () => (await import("./doctor.js")).doctorCommand,
  },
];

/** The names of all commands. */
export const commandNames: readonly string[] = commands.map(({ name }) => name);

/**
 * Creates `trivium`. Only commands that `words` names are loaded, to run or to print their help. The others are only listed:
 * their code takes longer to load than all the rest.
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

/** Leaves out defaults of flags that are off and of empty lists. */
function optionDescription(this: Help, option: Option): string {
  return Help.prototype.optionDescription.call(this, option).replace(/ ?\(default: (?:false|\{\}|\[\])\)$/, "");
}

/** Prints only the usage line after an error: the page of `--help` would push the error off the screen. */
function shortenUsage(command: Command, path: string): void {
  command.showHelpAfterError(`\nUsage: ${path} ${command.usage()}\nSee ${path} --help.`);
  for (const each of command.commands) shortenUsage(each, `${path} ${each.name()}`);
}
