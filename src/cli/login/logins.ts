import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { StoredTokens, TokenStore } from "../../auth/options.js";

/** Where tokens of `--login` are kept, readable by the user alone. */
function loginsFile(): string {
  const { TRIVIUM_LOGINS, XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  if (TRIVIUM_LOGINS) return TRIVIUM_LOGINS;
  const folder = XDG_STATE_HOME || LOCALAPPDATA || join(homedir(), ".local", "state");
  return join(folder, "trivium", "logins.json");
}

/** For what tokens are kept: they are sent to no other agent. */
export interface Login {
  /** Origin of the agent's card. */
  readonly agent: string;
  /** Name of the scheme, or `oauth`. */
  readonly scheme: string;
  readonly clientId: string;
}

interface SavedLogin extends Login {
  readonly tokens: StoredTokens;
}

/** The tokens of one login. */
export function storedLogin(login: Login): TokenStore {
  return {
    load: async () => (await readLogins()).find((each) => isSame(each, login))?.tokens,
    async save(tokens) {
      const others = (await readLogins()).filter((each) => !isSame(each, login));
      await writeLogins([...others, { ...login, tokens }]);
    },
  };
}

/** Deletes the tokens for an agent, or all. Returns how many logins there were. */
export async function forgetLogins(agent: string | undefined): Promise<number> {
  const logins = await readLogins();
  const kept = logins.filter((each) => agent !== undefined && each.agent !== agent);
  if (kept.length < logins.length) await writeLogins(kept);
  return logins.length - kept.length;
}

function isSame(one: Login, other: Login): boolean {
  return one.agent === other.agent && one.scheme === other.scheme && one.clientId === other.clientId;
}

async function readLogins(): Promise<readonly SavedLogin[]> {
  try {
    const logins: unknown = JSON.parse(await readFile(loginsFile(), "utf8"));
    return Array.isArray(logins) ? logins.filter(isLogin) : [];
  } catch (error) {
    // A file that is damaged only makes the user sign in again.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function isLogin(value: unknown): value is SavedLogin {
  const { tokens } = (value ?? {}) as Partial<SavedLogin>;
  return typeof tokens?.accessToken === "string" && typeof tokens.tokenUrl === "string" && Array.isArray(tokens.scopes);
}

async function writeLogins(logins: readonly SavedLogin[]): Promise<void> {
  const file = loginsFile();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(logins, undefined, 2)}\n`, { mode: 0o600 });
  await rename(draft, file);
}
