import type { Command } from "commander";
import { understood } from "./caller.js";
import { forgetLogins } from "./login/logins.js";
import { printJson } from "./print.js";
import { agentUrl } from "./target.js";

/** Adds `trivium logout`. */
export function addLogout(program: Command): void {
  const command = program
    .command("logout")
    .description("delete the tokens that --login has stored: those for one agent, or all")
    .argument("[url]", "URL of the agent or of its card");
  command.action(async (url: string | undefined) => {
    const agent = url === undefined ? undefined : understood(command, () => new URL(agentUrl(url)).origin);
    await printJson({ logins: await forgetLogins(agent) });
  });
}
