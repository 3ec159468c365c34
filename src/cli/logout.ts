import type { Command } from "commander";
import { forgetLogins } from "./login/logins.js";
import { checkUsage } from "./option-values.js";
import { printJson } from "./print.js";
import { agentUrl } from "./target.js";

/** `trivium logout`. */
export function logoutCommand(command: Command): void {
  command.argument("[url]", "URL of the agent or of its card");
  command.action(async (url: string | undefined) => {
    const agent = url === undefined ? undefined : checkUsage(command, () => new URL(agentUrl(url)).origin);
    await printJson({ logins: await forgetLogins(agent) });
  });
}
