#!/usr/bin/env node
import { Command, CommanderError } from "commander";
import { addCall } from "./call.js";
import { addCard } from "./card.js";
import { addDb } from "./db.js";
import { addDemo } from "./demo.js";
import { errorText } from "./error-text.js";
import { addGateway } from "./gateway.js";
import { packageVersion } from "./package-version.js";
import { addSend } from "./send.js";

// Exit codes: 0 success, 1 failure, 2 wrong usage, 130 and 143 interrupted.

const program = new Command("trivium")
  .description("Agents on the A2A (Agent2Agent) protocol.")
  .version(packageVersion())
  .showHelpAfterError()
  .exitOverride();
addDemo(program);
addSend(program);
addCall(program);
addCard(program);
addGateway(program);
addDb(program);

// A reader that stops early, such as `head`, is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

try {
  await program.parseAsync();
} catch (error) {
  // Commander has already printed its message.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  }
}
