import { text } from "node:stream/consumers";
import type { Command } from "commander";
import type { Continuation } from "../client/send-options.js";
import { printDeltas } from "./answer-text.js";
import { connectOptions } from "./call.js";
import { addCallerOptions, type CallerFlags, callerOptions, understood } from "./caller.js";
import { connectAt } from "./connect.js";
import { interruptible } from "./interruption.js";
import { authorizationShown } from "./login/login.js";
import { printNote } from "./print.js";
import { agentUrl } from "./target.js";

interface SendFlags extends CallerFlags {
  readonly task?: string;
  readonly context?: string;
  readonly verbose: boolean;
}

const examples = `
Examples:
  trivium send http://127.0.0.1:41241 "Hello."
  trivium send https://agent.example "MV Alba, 190 m" --task 01a20d0b-9e35-7001-9840-5bf13cfceb72
  trivium send https://agent.example - < question.txt`;

/** `trivium send`. */
export function sendCommand(command: Command): void {
  command
    .argument("<url>", "URL of the agent or of its card")
    .argument("<text>", "the message; - reads it from standard input");
  addCallerOptions(command)
    .option("--task <id>", "task that gets the message, such as one that asks for input")
    .option("--context <id>", "conversation that the message continues")
    .option("--verbose", "say on stderr which interface is used, and why others are not", false)
    .addHelpText("after", examples)
    .action((url: string, content: string, flags: SendFlags) => send(command, { url, content }, flags));
}

interface SendArguments {
  readonly url: string;
  readonly content: string;
}

async function send(command: Command, { url, content }: SendArguments, flags: SendFlags): Promise<void> {
  const agent = understood(command, () => agentUrl(url));
  const caller = understood(command, () => callerOptions(flags, agent));
  const message = content === "-" ? await text(process.stdin) : content;
  await interruptible(async (signal) => {
    await using client = await connectAt(agent, {
      ...connectOptions(flags),
      ...caller,
      signal,
      onAuthRequired: authorizationShown(flags),
    });
    const stream = client.stream(message, { continue: continuation(flags), signal, cancelOnAbort: true });
    await printDeltas(stream.text);
    const { state, taskId, ok } = await stream.answer;
    if (ok) return;
    if (state === "input-required" || state === "auth-required") {
      printNote(`${state}: answer with --task ${taskId}`);
      return;
    }
    printNote(`the task ended as ${state}`);
    process.exitCode = 1;
  });
}

function continuation({ task, context }: SendFlags): Continuation | undefined {
  return task === undefined && context === undefined ? undefined : { taskId: task, contextId: context ?? "" };
}
