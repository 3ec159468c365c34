// A command that a signal interrupts ends with the code of that signal: `endSignals` of the server.

/** What the exit codes of the command mean. */
export const exitCodes = { success: 0, failure: 1, wrongUsage: 2 } as const;
