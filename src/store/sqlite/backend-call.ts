import type { Backend } from "../sql/rows.js";

export type BackendMethod = Exclude<keyof Backend, "open" | "close">;

/** A method of the backend that is to be called. */
export interface BackendCall<M extends BackendMethod = BackendMethod> {
  readonly method: M;
  readonly args: Parameters<Backend[M]>;
}

/** Calls a method by its name. */
export function callBackend({ method, args }: BackendCall, backend: Backend): Promise<unknown> {
  // Name and arguments fit together in each call; together with others the type has lost it.
  const run = backend[method] as (...args: readonly unknown[]) => Promise<unknown>;
  return run(...args);
}
