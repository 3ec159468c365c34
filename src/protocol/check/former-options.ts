import { isPlainObject } from "./rules.js";

// Options of 0.1 that were renamed or removed. Those of the client stand beside its own rules, since a page loads them.
//
// 0.2 still takes the old names: `renameOptions` writes the new one before the options are checked, so that no other code
// knows the old one. It warns once per name and process, by `process.emitWarning`: the warning is for the author of the
// program, is due before the option `logger` has been checked, and Node shows where it comes from (`--trace-deprecation`).

interface RenamedOption {
  /** The option that holds it; `""` for the options themselves. */
  readonly within: "" | "push" | "limits";
  readonly before: string;
  readonly now: string;
  /** Values that are renamed too. */
  readonly values?: Readonly<Record<string, string>>;
}

export const renamedOptions = [
  { within: "", before: "declares", now: "securityDeclaration" },
  { within: "push", before: "every", now: "events", values: { event: "all" } },
  { within: "limits", before: "wakePauseMs", now: "minWakeIntervalMs" },
  { within: "limits", before: "storeAwayMs", now: "storeOutageMs" },
  { within: "limits", before: "overloadAwayMs", now: "overloadUnreadyMs" },
  { within: "limits", before: "pushFailuresToPause", now: "pushBreakerThreshold" },
] as const satisfies readonly RenamedOption[];

/** Limits of a server that became constants, each with the hint for programs that still set it. */
export const removedOptions = {
  readsPerOwner: fixedAt("4"),
  batchMaxEvents: fixedAt("64"),
  batchMaxBytes: fixedAt("256 KiB"),
  conversationEntryMaxBytes: fixedAt("64 KiB"),
  keptReplyMaxBytes: fixedAt("256 KiB"),
  bodyMinBytesPerSecond: fixedAt("1,024"),
};

function fixedAt(value: string): string {
  return `it is fixed at ${value} since 0.2`;
}

/** The old names, which the types still have. No rule is needed for them. */
export type RenamedOptionName = (typeof renamedOptions)[number]["before"];

const warnedNames = new Set<string>();

/**
 * Returns the options of `entry`, such as `serve()`, with the present names, also those of each entry of `agents`. Throws a
 * `TypeError` when an option is given under both names.
 */
export function renameOptions<T>(entry: string, options: T): T {
  return isPlainObject(options) ? (withPresentNames(options, entry, "") as T) : options;
}

type Given = Readonly<Record<string, unknown>>;

function withPresentNames(given: Given, entry: string, path: string): Given {
  let options = given;
  const rows: readonly RenamedOption[] = renamedOptions;
  for (const { within, before, now, values = {} } of rows) {
    const holder = within === "" ? options : options[within];
    if (!isPlainObject(holder) || holder[before] === undefined) continue;
    const prefix = within === "" ? path : `${path}${within}.`;
    if (holder[now] !== undefined) {
      throw new TypeError(
        `${entry}: ${prefix}${before} and ${prefix}${now} are one option: take out ${before}, its name in 0.1`,
      );
    }
    warnOnce(entry, `${prefix}${before}`, now);
    const { [before]: value, ...others } = holder;
    const isRenamedValue = typeof value === "string" && Object.hasOwn(values, value);
    const renamed = { ...others, [now]: isRenamedValue ? values[value] : value };
    options = within === "" ? renamed : { ...options, [within]: renamed };
  }
  const { agents } = options;
  if (!isPlainObject(agents)) return options;
  const renamedAgents = Object.entries(agents).map(([name, agent]) => [
    name,
    isPlainObject(agent) ? withPresentNames(agent, entry, `agents[${JSON.stringify(name)}].`) : agent,
  ]);
  return { ...options, agents: Object.fromEntries(renamedAgents) };
}

function warnOnce(entry: string, path: string, now: string): void {
  if (warnedNames.has(now)) return;
  warnedNames.add(now);
  const message = `${entry}: the option ${path} is called ${now} since 0.2; its old name is refused from 0.3 on`;
  globalThis.process?.emitWarning?.(message, { type: "DeprecationWarning", code: "TRIVIUM_RENAMED_OPTION" });
}
