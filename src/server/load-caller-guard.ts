import { type CallerGuardOptions, isAuthenticated } from "./caller-guard.js";
import type { RateLimiter, RateLimiterOptions, RateLimiterParts, ServerLimits } from "./rate-limiter.js";

/** Loads what holds callers to the options. `undefined` when none says who may call. */
export async function loadCallerGuard(
  options: Pick<CallerGuardOptions, "auth" | "authenticate" | "securityDeclaration">,
): Promise<typeof import("./create-caller-guard.js") | undefined> {
  return isAuthenticated(options) || options.securityDeclaration !== undefined
    ? await import("./create-caller-guard.js")
    : undefined;
}

/** Loads and creates the rate limits; `undefined` without limits. Rejects as `createRateLimiter` throws. */
export async function rateLimiterOf(
  options: RateLimiterOptions,
  parts: RateLimiterParts,
): Promise<RateLimiter | undefined> {
  if (options.rate === undefined && parts.server === undefined) return undefined;
  return (await import("./rate-limiter.js")).createRateLimiter(options, parts);
}

/** Loads and creates the limits that several agents have together; `undefined` without limits. Rejects as `createServerLimits` throws. */
export async function serverLimitsOf(
  options: Pick<RateLimiterOptions, "rate">,
  parts: Pick<RateLimiterParts, "clock" | "logger" | "skills">,
): Promise<ServerLimits | undefined> {
  return options.rate === undefined
    ? undefined
    : (await import("./rate-limiter.js")).createServerLimits(options, parts);
}
