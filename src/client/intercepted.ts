import type { Caller } from "../binding/transport.js";
import { interceptionOf } from "../protocol/intercept.js";
import type { ClientInterceptor } from "./options.js";

/** Puts interceptors in front of a caller. */
export function intercepted(caller: Caller, interceptors: readonly ClientInterceptor[]): Caller {
  const { unary, stream } = interceptionOf(interceptors);
  return {
    unary: (operation, request, context) =>
      unary(operation, { request, context }, (...call) => caller.unary(operation, ...call)),
    stream: (operation, request, context) =>
      stream(operation, { request, context }, (...call) => caller.stream(operation, ...call)),
  };
}
