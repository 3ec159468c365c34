import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { StoredTokens, TokenStore } from "../../auth/credential-options.js";

/** The file of the tokens of `--login`, readable by the user alone. */
function loginsFile(): string {
  const { TRIVIUM_LOGINS, XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  if (TRIVIUM_LOGINS) return TRIVIUM_LOGINS;
  const folder = XDG_STATE_HOME || LOCALAPPDATA || join(homedir(), ".local", "state");
  return join(folder, "trivium", "logins.json");
}

/** Agent, scheme and client of stored tokens. They are sent to no other agent. */
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

/** The store of the tokens of one login. */
export function loginTokenStore(login: Login): TokenStore {
  return {
    load: async () => (await readLogins()).find((each) => isSame(each, login))?.tokens,
    async save(tokens) {
      const others = (await readLogins()).filter((each) => !isSame(each, login));
      await writeLogins([...others, { ...login, tokens }]);
    },
  };
}

/** Deletes the tokens for an agent, or all. Returns the number of deleted logins. */
export async function forgetLogins(agent: string | undefined): Promise<number> {
  const logins = await readLogins();
  const remaining = logins.filter((each) => agent !== undefined && each.agent !== agent);
  if (remaining.length < logins.length) await writeLogins(remaining);
  return logins.length - remaining.length;
}

function isSame(one: Login, other: Login): boolean {
  return one.agent === other.agent && one.scheme === other.scheme && one.clientId === other.clientId;
}

async function readLogins(): Promise<readonly SavedLogin[]> {
  try {
    const logins: unknown = JSON.parse(await readFile(loginsFile(), "utf8"));
    return Array.isArray(logins) ? logins.filter(isLogin) : [];
  } catch (error) {
    // With a damaged file, the user signs in again.
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
