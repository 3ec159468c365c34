import { text } from "node:stream/consumers";
import type { JsonValue } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import type { Answer } from "../client/answer/answer.js";
import type { Continuation } from "../client/send-options.js";
import type { Part } from "../protocol/model.js";
import { printDeltas } from "./answer-text.js";
import { addCallerOptions, type CallerFlags, callerOptions } from "./caller.js";
import { connectAt, connectOptions } from "./connect.js";
import { runInterruptible } from "./interruption.js";
import { showAuthorization } from "./login/login.js";
import { appendText, checkUsage, parseDuration, parseSize } from "./option-values.js";
import { print, printJson, printNote } from "./print.js";
import { agentUrl } from "./target.js";

interface SendFlags extends CallerFlags {
  readonly task?: string;
  readonly context?: string;
  readonly file: readonly string[];
  readonly data?: string;
  readonly save?: string;
  readonly maxBytes: number;
  readonly saveTimeout: number;
  readonly verbose: boolean;
}

const examples = `
Examples:
  trivium send http://127.0.0.1:41241 "Hello."
  trivium send https://agent.example "MV Alba, 190 m" --task 01a20d0b-9e35-7001-9840-5bf13cfceb72
  trivium send https://agent.example - < question.txt
  trivium send https://agent.example "Sum it up." --file depths.csv --save results`;

/** `trivium send`. */
export function sendCommand(command: Command): void {
  command
    .argument("<url>", "URL of the agent or of its card")
    .argument("[text]", "the message; - reads it from standard input; may be left out with --file and --data");
  addCallerOptions(command)
    .option("--task <id>", "task that gets the message, such as one that asks for input")
    .option("--context <id>", "conversation that the message continues")
    .option("--file <path>", "file to send with the message; may be repeated", appendText, [])
    .option("--data <json>", "JSON value to send with the message")
    .option("--save <folder>", "folder to write the files of the answer into")
    .addOption(
      new Option("--max-bytes <size>", "most bytes that --save writes, of all files together: 500k, 64m, 2g")
        .default(256 << 20, "256m")
        .argParser(parseSize),
    )
    .addOption(
      new Option("--save-timeout <time>", "how long --save may fetch one file: 90s, 10m")
        .default(300_000, "5m")
        .argParser(parseDuration),
    )
    .option("--verbose", "report on stderr which interface is used, and why others are not", false)
    .addHelpText("after", examples)
    .action((url: string, content: string | undefined, flags: SendFlags) => send(command, { url, content }, flags));
}

interface SendArguments {
  readonly url: string;
  readonly content: string | undefined;
}

async function send(command: Command, { url, content }: SendArguments, flags: SendFlags): Promise<void> {
  const agent = checkUsage(command, () => agentUrl(url));
  const caller = checkUsage(command, () => callerOptions(flags, agent));
  const message = await readMessage(command, content, flags);
  await runInterruptible(async (signal) => {
    await using client = await connectAt(agent, {
      ...connectOptions(flags),
      ...caller,
      signal,
      onAuthRequired: showAuthorization(flags),
    });
    const stream = client.stream(message, { continue: continuation(flags), signal, cancelOnAbort: true });
    const hasPrinted = await printDeltas(stream.text);
    const answer = await stream.answer;
    const data = hasPrinted ? undefined : answer.data();
    if (data !== undefined) await printJson(data);
    if (flags.save === undefined) showFiles(answer);
    else {
      const { saveFiles } = await import("./save-files.js");
      const limits = { maxBytes: flags.maxBytes, timeoutMs: flags.saveTimeout };
      const saveOptions = { folder: flags.save, ...limits, agent, tls: caller.tls, signal };
      for await (const path of saveFiles(answer.files, saveOptions)) printNote(`saved ${path}`);
    }
    await finish(answer);
  });
}

/** The parts of the message: text, files and data, in this order. */
async function readMessage(command: Command, content: string | undefined, flags: SendFlags): Promise<readonly Part[]> {
  const { data: json, file: paths } = flags;
  if (content === undefined && json === undefined && paths.length === 0) {
    return command.error("error: nothing to send: give a text, --file or --data");
  }
  const value = checkUsage(
    command,
    () => json !== undefined && (JSON.parse(json) as JsonValue),
    "--data is not JSON: ",
  );
  const parts: Part[] = [];
  const { data, text: textPart } = await import("../protocol/parts.js");
  const { fileFrom } = await import("../client/files/file-from.js");
  if (content !== undefined) parts.push(textPart(content === "-" ? await text(process.stdin) : content));
  for (const path of paths) parts.push(await fileFrom(path, { maxBytes: fileMaxBytes }));
  if (json !== undefined) parts.push(data(value));
  return parts;
}

/** Over the limit of agents, whose own error names it. */
const fileMaxBytes = 256 << 20;

function showFiles({ files }: Answer): void {
  for (const { name = "a file", url, bytes } of files) {
    const source = url === undefined ? `${bytes().length.toLocaleString("en")} bytes` : JSON.stringify(url);
    printNote(`file ${JSON.stringify(name)}: ${source} (--save <folder> writes it)`);
  }
}

async function finish({ state, statusText, artifacts, taskId, ok }: Answer): Promise<void> {
  if (ok) return;
  // If artifacts have text, the printed text does not include the last message.
  const lastText = artifacts.some(({ text }) => text !== "") ? statusText : "";
  if (state === "input-required" || state === "auth-required") {
    if (lastText !== "") await print(`\n${lastText}`);
    printNote(`${state}: answer with --task ${taskId}`);
    return;
  }
  printNote(`the task ended as ${state}${lastText === "" ? "" : `: ${lastText}`}`);
  process.exitCode = 1;
}

function continuation({ task, context }: SendFlags): Continuation | undefined {
  return task === undefined && context === undefined ? undefined : { taskId: task, contextId: context ?? "" };
}
