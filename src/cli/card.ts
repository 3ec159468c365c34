import type { Command } from "commander";
import { v1 } from "../version/v1.0/v1.js";
import { addCallerOptions, type CallerFlags, credentialsOf, understood } from "./caller.js";
import { interruptible } from "./interruption.js";
import { printJson } from "./print.js";
import { agentUrl } from "./target.js";

/** Adds `trivium card`. */
export function addCard(program: Command): void {
  const command = program
    .command("card")
    .description("print the card of an agent as JSON; with credentials the extended one, where there is one")
    .argument("<url>", "base URL of the agent, or URL of its card");
  addCallerOptions(command).action(printCard);
}

async function printCard(address: string, flags: CallerFlags, command: Command): Promise<void> {
  const url = understood(command, () => agentUrl(address));
  const credentials = understood(command, () => credentialsOf(flags, url));
  const { header: headers, timeout } = flags;
  const limits = timeout === undefined ? {} : { cardTimeoutMs: timeout };
  await interruptible(async (signal) => {
    const { Client } = await import("../client/node.js");
    await using client = await Client.connect(url, { headers, credentials, limits, signal, cardCache: false });
    await printJson(v1.writeCard(client.card) ?? {});
  });
}
