import { CommanderError } from "commander";
import { createProgram } from "./program.js";

// Exit codes: 0 success, 1 failure, 2 wrong usage, 130 and 143 interrupted.

/** Runs the command that the arguments of the process name. */
export async function run(): Promise<void> {
  // A reader that stops early, such as `head`, is not a failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
  try {
    await (await createProgram(process.argv.slice(2))).parseAsync();
  } catch (error) {
    // Commander has already printed its message.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      const { errorText } = await import("./error-text.js");
      const { printNote } = await import("./print.js");
      printNote(errorText(error));
      process.exitCode = 1;
    }
  }
}
