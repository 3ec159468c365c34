import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Where compiled code is kept: in the user's own cache, since code is run from it and Linux shares its temporary folder
 * between users. `undefined` leaves it to Node, also where the environment names a folder.
 */
export function cacheFolder({ platform, env } = process): string | undefined {
  if (platform !== "linux" || env["NODE_COMPILE_CACHE"] !== undefined) return undefined;
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trivium");
}
