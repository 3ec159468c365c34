import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** The program that opens a URL on this machine, with its arguments. `undefined` without a desktop. */
export function openerOf(platform: NodeJS.Platform, env: Environment): readonly [string, ...string[]] | undefined {
  const program = env["BROWSER"];
  if (program !== undefined && program !== "") return [program];
  if (platform === "darwin") return ["open"];
  // A shell would read the URL.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] === undefined && env["WAYLAND_DISPLAY"] === undefined ? undefined : ["xdg-open"];
}

/** Opens a page in the user's browser. Resolves with false when no program for it could be started. */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = openerOf(process.platform, process.env) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.unref();
  return new Promise((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
}
