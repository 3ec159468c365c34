import { type GuardingOptions, isAuthenticated } from "./guarded.js";

/** Loads what holds callers to the options. `undefined` when none says who may call. */
export async function loadGuarding(
  options: Pick<GuardingOptions, "auth" | "authenticate" | "declares">,
): Promise<typeof import("./guarding.js") | undefined> {
  return isAuthenticated(options) || options.declares !== undefined ? await import("./guarding.js") : undefined;
}
