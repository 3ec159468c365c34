import { callOf } from "../../core/ports.js";
import type { Backend } from "../sql/rows.js";

/** A backend method to be called in another thread. */
export interface BackendCall {
  readonly port: "tasks" | "push";
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Calls a method by its name. */
export function callBackend({ port, method, args }: BackendCall, backend: Backend): Promise<unknown> {
  return callOf(port === "push" ? backend.push : backend, method, args);
}
