import { memoryTaskStore, type ServeOptions, type Server, serve, type TaskStore } from "trivium";
import { type Wire, wires } from "./wires.js";

/** What a case says of the agent that it wants served. */
export interface ToServe extends ServeOptions {
  /** Put around the store of the server, or around that of each of them. */
  readonly storeAround?: ((store: TaskStore) => TaskStore) | undefined;
}

/** How the agents of cases are served. */
export interface Serving {
  /** The wires that cases run over. */
  readonly wires: readonly Wire[];
  /** Clients of one wire, which take turns: a client keeps to its connections. */
  readonly clientsPerWire: number;
  serve(options: ToServe): Promise<Server>;
}

/** By one server, as users have it. */
export const alone: Serving = {
  wires,
  clientsPerWire: 1,
  serve: ({ storeAround, ...options }) => {
    if (storeAround === undefined) return serve(options);
    const { clock, store = memoryTaskStore({ clock }) } = options;
    return serve({ ...options, store: storeAround(store) });
  },
};

let chosen = alone;

export const serving = (): Serving => chosen;

/** Has the cases of this file served in another way: said before they are imported. */
export function serveBy(other: Serving): void {
  chosen = other;
}
