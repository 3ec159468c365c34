import { CommanderError } from "commander";
import { exitCodes } from "./exit-codes.js";
import { createProgram } from "./program.js";

/** Runs the command that the arguments of the process name. */
export async function run(): Promise<void> {
  // A reader that stops early, such as `head`, is not a failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? exitCodes.success : exitCodes.failure);
  });
  // A closed terminal takes no more messages. That must not fail the command.
  process.stderr.on("error", () => {});
  try {
    await (await createProgram(process.argv.slice(2))).parseAsync();
  } catch (error) {
    // Commander has already printed its message.
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? exitCodes.success : exitCodes.wrongUsage;
    else {
      const { errorText } = await import("./error-text.js");
      const { printNote } = await import("./print.js");
      printNote(errorText(error));
      process.exitCode = exitCodes.failure;
    }
  }
}
