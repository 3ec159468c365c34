import type { OperationCaller } from "../../binding/transport.js";
import { interceptionOf } from "../../protocol/intercept.js";
import type { ClientOptions } from "../options.js";
import { authorizationInterceptor } from "./authorization.js";

/** Puts interceptors in front of a caller, and the one that shows requests for an authorization. */
export function intercept(
  caller: OperationCaller,
  { interceptors = [], onAuthRequired }: Pick<ClientOptions, "interceptors" | "onAuthRequired">,
): OperationCaller {
  const authorization = onAuthRequired === undefined ? [] : [authorizationInterceptor(onAuthRequired)];
  const { unary, stream } = interceptionOf([...authorization, ...interceptors]);
  return {
    unary: (operation, request, context) =>
      unary(operation, { request, context }, (...call) => caller.unary(operation, ...call)),
    stream: (operation, request, context) =>
      stream(operation, { request, context }, (...call) => caller.stream(operation, ...call)),
  };
}
