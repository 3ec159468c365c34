import type { Server } from "@grpc/grpc-js";
import type { HealthImplementation } from "grpc-health-check";

/** `grpc.health.v1`, for the whole server (the empty name) and for each service. */
export interface Health {
  /** Registers the service. Loads its package only now, since that takes longer than all of this library's startup. */
  addTo(server: Server): Promise<void>;
  setServing(serving: boolean): void;
}

export function createHealth(services: readonly string[]): Health {
  const names = ["", ...services];
  let isServing = true;
  let implementation: HealthImplementation | undefined;
  const publish = (): void => {
    for (const name of names) implementation?.setStatus(name, isServing ? "SERVING" : "NOT_SERVING");
  };
  return {
    addTo: async (server) => {
      const { HealthImplementation } = await import("grpc-health-check");
      implementation = new HealthImplementation();
      publish();
      implementation.addToServer(server);
    },
    setServing: (now) => {
      isServing = now;
      publish();
    },
  };
}
