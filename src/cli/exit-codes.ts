// A command that a signal interrupts ends with the code of that signal: `endSignals` of the server.

/** The exit codes of the command and their meanings. */
export const exitCodes = { success: 0, failure: 1, wrongUsage: 2 } as const;
