import { type GuardingOptions, isAuthenticated } from "./guarded.js";
import type { Rating, RatingOptions, RatingParts, ServerLimits } from "./rating.js";

/** Loads what holds callers to the options. `undefined` when none says who may call. */
export async function loadGuarding(
  options: Pick<GuardingOptions, "auth" | "authenticate" | "declares">,
): Promise<typeof import("./guarding.js") | undefined> {
  return isAuthenticated(options) || options.declares !== undefined ? await import("./guarding.js") : undefined;
}

/** Loads and creates the limits by who is asking; `undefined` without limits. Rejects as `createRating` throws. */
export async function ratingOf(options: RatingOptions, parts: RatingParts): Promise<Rating | undefined> {
  if (options.rate === undefined && parts.server === undefined) return undefined;
  return (await import("./rating.js")).createRating(options, parts);
}

/** Loads and creates the limits that several agents have together; `undefined` without limits. Rejects as `createServerLimits` throws. */
export async function serverLimitsOf(
  options: Pick<RatingOptions, "rate">,
  parts: Pick<RatingParts, "clock" | "logger" | "skills">,
): Promise<ServerLimits | undefined> {
  return options.rate === undefined ? undefined : (await import("./rating.js")).createServerLimits(options, parts);
}
