import type { RawCall } from "./taken-call.js";

/**
 * Sets an HTTP status other than 200 for a call that fails before its first message. grpc-js has no interface for that: the
 * stream of a call is private. Tried with grpc-js 1.14.7 and Node 24.21. Costs one function for such a call. Without it,
 * only Envoy could distinguish a refused call from one that has begun.
 */
export function setHttpStatus(call: RawCall, status: number): void {
  const stream: unknown = Reflect.get(call, "stream");
  if (typeof stream !== "object" || stream === null) return;
  const respond: unknown = Reflect.get(stream, "respond");
  if (typeof respond !== "function") return;
  Reflect.set(stream, "respond", (headers: object, ...rest: unknown[]) =>
    respond.call(stream, { ...headers, ":status": status }, ...rest),
  );
}
