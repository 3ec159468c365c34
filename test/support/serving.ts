import { memoryTaskStore, type ServeOptions, type Server, serve, type TaskStore } from "trivium";
import { type Wire, wires } from "./wires.js";

/** How a test case wants its agent served. */
export interface ToServe extends ServeOptions {
  /** Wraps the store of the server, or of each server. */
  readonly storeAround?: ((store: TaskStore) => TaskStore) | undefined;
}

/** How the agents of test cases are served. */
export interface Serving {
  /** The wires that cases run over. */
  readonly wires: readonly Wire[];
  /** Clients per wire, used in turn, since each client keeps its connections. */
  readonly clientsPerWire: number;
  serve(options: ToServe): Promise<Server>;
}

/** One server, as users have it. */
export const alone: Serving = {
  wires,
  clientsPerWire: 1,
  serve: ({ storeAround, ...options }) => {
    if (storeAround === undefined) return serve(options);
    const { clock, store = memoryTaskStore({ clock }) } = options;
    return serve({ ...options, store: storeAround(store) });
  },
};

let current = alone;

export const serving = (): Serving => current;

/** Serves the cases of this file differently. Call it before importing them. */
export function serveBy(newServing: Serving): void {
  current = newServing;
}
