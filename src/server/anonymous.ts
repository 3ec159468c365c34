import type { IdentifiedCaller, Principal } from "../protocol/context.js";

/** The one principal of an agent without `authenticate`. */
export const anonymous: Principal = Object.freeze({ owner: "anonymous" });

/** What every caller of such an agent is. */
export const everyone: IdentifiedCaller = { principal: anonymous };
