import type { Command } from "commander";
import { isSameHost } from "../client/secret-places.js";
import { v1 } from "../version/v1.0/v1.js";
import { addCallerOptions, type CallerFlags, callerOptions, understood } from "./caller.js";
import { connectAt } from "./connect.js";
import { interruptible } from "./interruption.js";
import { printJson } from "./print.js";
import { agentUrl } from "./target.js";

/** `trivium card`. */
export function cardCommand(command: Command): void {
  command
    .argument("<url>", "base URL of the agent, or URL of its card")
    .option("--all", "print the cards of all agents that the server at <url> lists, as a JSON array");
  addCallerOptions(command).action(printCard);
}

/** The options of `trivium card`. */
interface CardFlags extends CallerFlags {
  readonly all?: boolean;
}

async function printCard(address: string, flags: CardFlags, command: Command): Promise<void> {
  const url = understood(command, () => agentUrl(address));
  const caller = understood(command, () => callerOptions(flags, url));
  const { header: headers, timeout } = flags;
  const limits = timeout === undefined ? {} : { cardTimeoutMs: timeout };
  await interruptible(async (signal) => {
    const cardAt = async (at: string): Promise<object> => {
      // A list may name any server: others get no secrets, and are called only on the public internet.
      const isOwn = isSameHost(url, at) || flags.trust?.includes(new URL(at).origin) === true;
      const own = isOwn ? caller : { allowPrivate: false };
      await using client = await connectAt(at, { ...own, limits, signal, cardCache: false });
      return v1.writeCard(client.card) ?? {};
    };
    if (flags.all !== true) return printJson(await cardAt(url));
    const { listedCards } = await import("./agents/listed-agents.js");
    const bearer = flags.bearer === undefined ? {} : { authorization: `Bearer ${flags.bearer}` };
    const call = { headers: { ...bearer, ...headers }, timeoutMs: timeout ?? 10_000, tls: caller.tls, signal };
    const cards: object[] = [];
    for (const at of await listedCards(url, call)) cards.push(await cardAt(at));
    return printJson(cards);
  });
}
