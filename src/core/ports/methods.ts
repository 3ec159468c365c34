/**
 * How a port's method is called. `write`: alone, or in a transaction with others. `turn`: the same for the writes of
 * turns, which are retried differently.
 */
export type MethodKind = "read" | "write" | "turn";

/** The kind of each method of a port. Guards, proxies and fakes are generated from it. */
export type PortMethods<Port> = { readonly [M in keyof Port]: MethodKind };

/** The common signature of all methods, since a table's methods are not typed one by one. */
export type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/** Creates a port with one method for each row of its table. */
export function createPort<Port>(
  calls: PortMethods<Port>,
  make: (method: string, kind: MethodKind) => AnyMethod,
): Port {
  const methods = Object.entries<MethodKind>(calls).map(([method, kind]) => [method, make(method, kind)] as const);
  return Object.fromEntries(methods) as Port;
}

/** Calls a method by its name. */
export function callMethod(port: object, method: string, args: readonly unknown[]): Promise<unknown> {
  const run = Reflect.get(port, method) as AnyMethod;
  return Reflect.apply(run, port, args);
}
