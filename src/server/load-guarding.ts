import { type GuardingOptions, isAuthenticated } from "./guarded.js";
import type { Rating, RatingOptions, RatingParts } from "./rating.js";

/** Loads what holds callers to the options. `undefined` when none says who may call. */
export async function loadGuarding(
  options: Pick<GuardingOptions, "auth" | "authenticate" | "declares">,
): Promise<typeof import("./guarding.js") | undefined> {
  return isAuthenticated(options) || options.declares !== undefined ? await import("./guarding.js") : undefined;
}

/** Loads and creates the limits by who is asking; `undefined` without limits. Rejects as `createRating` throws. */
export async function ratingOf(options: RatingOptions, parts: RatingParts): Promise<Rating | undefined> {
  return options.rate === undefined ? undefined : (await import("./rating.js")).createRating(options, parts);
}
