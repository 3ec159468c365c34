import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ServeOptions } from "../../server/options.js";

/** Options of `serve()` that a module or the configuration gives. */
export type ServeSettings = Partial<ServeOptions>;

const extensions = ["ts", "mts", "js", "mjs"];

/**
 * The options in the default export of a module: the options of `serve()`, or an agent alone. Rejects with one sentence for
 * a module that cannot be loaded or exports neither.
 */
export async function readAgentModule(file: string): Promise<ServeSettings> {
  const defaultExport = await loadDefault(file);
  if (typeof defaultExport === "function") return { agent: defaultExport as ServeOptions["agent"] };
  if (isSettings(defaultExport) && ("agent" in defaultExport || "agents" in defaultExport)) return defaultExport;
  throw new Error(
    `${file} exports no agent by default: \`export default\` a function of a turn, or options with \`card\` and \`agent\``,
  );
}

/** The options of the configuration: of `file`, else of `trivium.config.*` in the working folder, if there is one. */
export async function readConfiguration(file: string | undefined): Promise<ServeSettings> {
  const configFile = file ?? extensions.map((ending) => `trivium.config.${ending}`).find((name) => existsSync(name));
  if (configFile === undefined) return {};
  const defaultExport = await loadDefault(configFile);
  if (isSettings(defaultExport)) return defaultExport;
  throw new Error(`${configFile} exports no options by default: \`export default { port: 8080 }\``);
}

const cardFields = ["name", "description", "version"] as const;

/** The default card: name, description and version in the nearest `package.json`. Throws if one of them is missing. */
export function cardOfPackage(file: string): ServeOptions["card"] {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) {
      const json = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
      const [name, description, version] = cardFields.map((field) => json[field]);
      if (isFilled(name) && isFilled(description) && isFilled(version)) return { name, description, version };
      const missingFields = cardFields.filter((field) => !isFilled(json[field])).join(" and no ");
      throw new Error(`${file} gives no card, and ${path} has no ${missingFields}: add that there, or export a card`);
    }
    if (folder === dirname(folder))
      throw new Error(`${file} gives no card, and there is no package.json: export a card`);
  }
}

async function loadDefault(file: string): Promise<unknown> {
  const path = resolve(file);
  if (!existsSync(path)) throw new Error(`there is no file ${file}`);
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    return module.default;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_UNKNOWN_FILE_EXTENSION") {
      const requirement =
        "Node 22.18 or newer runs TypeScript, this one only with --experimental-strip-types in NODE_OPTIONS";
      throw new Error(`${file} cannot be loaded: ${requirement}`, { cause: error });
    }
    throw new Error(`${file} cannot be loaded: ${stackOf(error)}`);
  }
}

/** The stack of an error without the lines of Node: it shows where the module failed. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? error.message).split("\n");
  return lines.filter((line) => !line.includes("node:internal")).join("\n");
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isSettings(value: unknown): value is ServeSettings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
