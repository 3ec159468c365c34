/**
 * How a port's method is called. `write`: alone, or in a transaction with others. `turn`: the same for the writes of
 * turns, which are retried differently.
 */
export type CallKind = "read" | "write" | "turn";

/** The kind of each method of a port. Guards, proxies and fakes are generated from it. */
export type PortCalls<Port> = { readonly [M in keyof Port]: CallKind };

/** The common signature of all methods, since a table's methods are not typed one by one. */
export type AnyCall = (...args: readonly unknown[]) => Promise<unknown>;

/** Creates a port with one method for each row of its table. */
export function createPort<Port>(calls: PortCalls<Port>, make: (method: string, kind: CallKind) => AnyCall): Port {
  const methods = Object.entries<CallKind>(calls).map(([method, kind]) => [method, make(method, kind)] as const);
  return Object.fromEntries(methods) as Port;
}

/** Calls a method by its name. */
export function callPort(port: object, method: string, args: readonly unknown[]): Promise<unknown> {
  const run = Reflect.get(port, method) as AnyCall;
  return Reflect.apply(run, port, args);
}
