import type { Turn } from "../core/agent.js";

const headerName = /^[\w-]+$/;

/** The version of the objects that executors of 1.x get. */
const objectVersion = "1.0";

/** The value of `requestContext.context`: the caller, the tenant, the extensions and the headers. */
export function callContext(turn: Turn): object {
  const { principal, tenant, extensions } = turn;
  return {
    user: { ...principal, userName: principal.owner, isAuthenticated: principal.owner !== "anonymous" },
    tenant: tenant === "" ? undefined : tenant,
    requestedVersion: objectVersion,
    requestedExtensions: [...extensions],
    activatedExtensions: [...extensions],
    state: new Map([["headers", proxyHeaders(turn)]]),
    // The card decides which extensions are active.
    addActivatedExtension() {},
  };
}

// A turn gives headers by name and has no list of them.
function proxyHeaders(turn: Turn): object {
  return new Proxy(
    {},
    { get: (_, name) => (typeof name === "string" && headerName.test(name) ? turn.header(name) : undefined) },
  );
}
