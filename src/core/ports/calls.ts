/**
 * How a call of a port is made. `write`: alone, or in one transaction with others. `turn`: the same for the writes of turns,
 * which have a way of their own through failures.
 */
export type CallKind = "read" | "write" | "turn";

/** Every method of a port, and what kind of call it is. Guards, proxies and fakes are made from it. */
export type PortCalls<Port> = { readonly [M in keyof Port]: CallKind };

/** What every method of a port has room for: the ones of a table are not typed one by one. */
export type AnyCall = (...args: readonly unknown[]) => Promise<unknown>;

/** A port with a method for each row of its table. */
export function portOf<Port>(calls: PortCalls<Port>, make: (method: string, kind: CallKind) => AnyCall): Port {
  const methods = Object.entries<CallKind>(calls).map(([method, kind]) => [method, make(method, kind)] as const);
  return Object.fromEntries(methods) as Port;
}

/** Calls a method by its name. */
export function callOf(port: object, method: string, args: readonly unknown[]): Promise<unknown> {
  const run = Reflect.get(port, method) as AnyCall;
  return Reflect.apply(run, port, args);
}
