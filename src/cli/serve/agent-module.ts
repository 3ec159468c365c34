import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { renameOptions } from "../../protocol/check/former-options.js";
import { isRecord } from "../../protocol/kinds.js";
import type { ServeOptions } from "../../server/options.js";

/** Options of `serve()` that a module or the configuration gives. */
export type ServeSettings = Partial<ServeOptions>;

const extensions = ["ts", "mts", "js", "mjs"];

// Options with the names of 0.1 get their present names here, before those of several sources are merged: an option of
// the configuration replaces that of the module, whichever of its names each of them uses.

/**
 * The options in the default export of a module: the options of `serve()`, or an agent alone. Rejects with one sentence
 * for a module that cannot be loaded or exports neither.
 */
export async function readAgentModule(file: string): Promise<ServeSettings> {
  const defaultExport = await loadDefault(file);
  if (typeof defaultExport === "function") return { agent: defaultExport as ServeOptions["agent"] };
  if (isSettings(defaultExport) && ("agent" in defaultExport || "agents" in defaultExport)) {
    return renameOptions(file, defaultExport);
  }
  throw new Error(
    `${file} exports no agent by default: \`export default\` a function of a turn, or options with \`card\` and \`agent\``,
  );
}

/** The options of the configuration: of `file`, else of `trivium.config.*` in the working folder, if there is one. */
export async function readConfiguration(file: string | undefined): Promise<ServeSettings> {
  const configFile = file ?? extensions.map((ending) => `trivium.config.${ending}`).find((name) => existsSync(name));
  if (configFile === undefined) return {};
  const defaultExport = await loadDefault(configFile);
  if (isSettings(defaultExport)) return renameOptions(configFile, defaultExport);
  throw new Error(`${configFile} exports no options by default: \`export default { port: 8080 }\``);
}

const cardFields = ["name", "description", "version"] as const;

/**
 * The default card: name, description and version in the nearest `package.json`. On a loopback address a missing field
 * gets a default, since only the author reads that card. On any other address it is an error.
 */
export function readPackageCard(file: string, isLocal: boolean): ServeOptions["card"] {
  const path = nearestPackage(file);
  const json = path === undefined ? {} : (JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>);
  const missingFields = cardFields.filter((field) => !isFilled(json[field]));
  if (missingFields.length > 0 && !isLocal) {
    const lack = path === undefined ? "there is no package.json" : `${path} has no ${missingFields.join(" and no ")}`;
    throw new Error(`${file} exports no card, and ${lack}: export a card, since other machines can reach this agent`);
  }
  const name = basename(resolve(file)).replace(/\.\w+$/, "");
  const defaults = { name, description: `The agent of ${basename(file)}`, version: "0.0.0" };
  const fields = cardFields.map((field) => [field, isFilled(json[field]) ? json[field] : defaults[field]]);
  return Object.fromEntries(fields) as typeof defaults;
}

function nearestPackage(file: string): string | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

async function loadDefault(file: string): Promise<unknown> {
  const path = resolve(file);
  if (!existsSync(path)) throw new Error(`there is no file ${file}`);
  // Otherwise Node would end the process without naming the file.
  const stall = Promise.withResolvers<never>();
  const onStall = (): void => stall.reject("nothing is left that its top-level `await` could wait for");
  process.once("beforeExit", onStall);
  try {
    const module = await Promise.race([import(pathToFileURL(path).href), stall.promise]);
    return (module as { readonly default?: unknown }).default;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_UNKNOWN_FILE_EXTENSION") {
      const requirement =
        "Node 22.18 or newer runs TypeScript, this one only with --experimental-strip-types in NODE_OPTIONS";
      throw new Error(`${file} cannot be loaded: ${requirement}`, { cause: error });
    }
    throw new Error(`${file} cannot be loaded: ${(await syntaxErrorAt(path, error)) ?? formatStack(error)}`);
  } finally {
    process.off("beforeExit", onStall);
  }
}

/** The stack of an error without the lines of Node: it shows where the module failed. */
function formatStack(error: unknown): string {
  return error instanceof Error ? withoutInternals(error.stack ?? error.message) : String(error);
}

function withoutInternals(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/node:internal|^Node\.js v/.test(line))
    .join("\n")
    .trim();
}

/**
 * A syntax error with its file and line. Node shows them only when such an error ends the process, so a second process
 * imports the module. None of its code runs there, because an import before it exits.
 */
async function syntaxErrorAt(path: string, error: unknown): Promise<string | undefined> {
  if (!(error instanceof SyntaxError) || error.stack?.startsWith("SyntaxError") !== true) return undefined;
  const end = "data:text/javascript,process.exit()";
  const program = [end, pathToFileURL(path).href].map((url) => `import ${JSON.stringify(url)};`).join("");
  const { spawnSync } = await import("node:child_process");
  const options = [...process.execArgv, "--input-type=module", "--eval", program];
  const { status, stderr } = spawnSync(process.execPath, options, { encoding: "utf8" });
  return status !== 0 && stderr.includes(error.message) ? withoutInternals(stderr) : undefined;
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isSettings(value: unknown): value is ServeSettings {
  return isRecord(value);
}
