import { basePathRule } from "../card/urls.js";
import { func, type Member, object } from "../protocol/check/rules.js";

// The rules for the options of a mounted agent.

const basePath: Member = { rule: basePathRule };
const request: Member = { rule: () => [] };
const remoteAddress: Member = { rule: func };

/** `MountOptions`. */
export const mountRule = object({ basePath, request });

/** `FetchOptions`. */
export const fetchRule = object({ basePath, request, remoteAddress });

/** `FetchOptions` for a framework whose request the handler knows. */
export const routeRule = object({ basePath, remoteAddress }, { request: "it is the framework's" });
