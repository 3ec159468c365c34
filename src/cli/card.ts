import type { Command } from "commander";
import { isSameHost } from "../client/secret-policy.js";
import { v1 } from "../version/v1.0/v1.js";
import { addCallerOptions, type CallerFlags, callerOptions } from "./caller.js";
import { connectAt, noteLongWait } from "./connect.js";
import { runInterruptible } from "./interruption.js";
import { checkUsage } from "./option-values.js";
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
  const url = checkUsage(command, () => agentUrl(address));
  const caller = checkUsage(command, () => callerOptions(flags, url));
  const { header: headers, timeout } = flags;
  const limits = timeout === undefined ? {} : { cardTimeoutMs: timeout };
  await runInterruptible(async (signal) => {
    const cardAt = async (cardUrl: string): Promise<object> => {
      // A list may name any server. Other servers get no secrets, and are called on the public internet only.
      const isOwn = isSameHost(url, cardUrl) || flags.trust?.includes(new URL(cardUrl).origin) === true;
      const options = isOwn ? caller : { allowPrivate: false };
      // An agent of the list that is down must not delay the others.
      const retry = flags.all === true ? false : undefined;
      const search = { limits, retry, onRetry: noteLongWait(), signal, cardCache: false } as const;
      await using client = await connectAt(cardUrl, { ...options, ...search });
      return v1.writeCard(client.card) ?? {};
    };
    if (flags.all !== true) return printJson(await cardAt(url));
    const { readCardUrls: listedCards } = await import("./listed-agents.js");
    const bearer = flags.bearer === undefined ? {} : { authorization: `Bearer ${flags.bearer}` };
    const call = { headers: { ...bearer, ...headers }, timeoutMs: timeout ?? 10_000, tls: caller.tls, signal };
    const cards: object[] = [];
    for (const cardUrl of await listedCards(url, call)) cards.push(await cardAt(cardUrl));
    return printJson(cards);
  });
}
