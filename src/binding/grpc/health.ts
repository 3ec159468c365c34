import { create } from "@bufbuild/protobuf";
import { createStatus } from "./errors.js";
import { type OwnCall, type OwnMethods, ownMethod } from "./own-services.js";

/** `grpc.health.v1`, for the whole server (the empty name) and for each service. */
export interface Health {
  /** Loads the methods: their descriptor is loaded only now, since few servers are called over gRPC. */
  load(): Promise<OwnMethods>;
  setServing(serving: boolean): void;
}

export function createHealth(services: readonly string[]): Health {
  const names = new Set(["", ...services]);
  const watchers = new Set<OwnCall>();
  let isServing = true;
  let notifyWatcher = (_watcher: OwnCall): void => {};
  return {
    load: async () => {
      const pb = await import("../../../gen/grpc/health/v1/health_pb.js");
      const { check, list, watch } = pb.Health.method;
      const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = pb.HealthCheckResponse_ServingStatus;
      const answer = (status = isServing ? SERVING : NOT_SERVING) => create(pb.HealthCheckResponseSchema, { status });
      notifyWatcher = (watcher) => watcher.send(answer());
      return new Map([
        [
          "/grpc.health.v1.Health/Check",
          ownMethod(check, {
            onMessage({ service }, call) {
              if (names.has(service)) call.reply(answer());
              else call.end(createStatus(5, `the server has no service ${service}`));
            },
          }),
        ],
        [
          "/grpc.health.v1.Health/List",
          ownMethod(list, {
            onMessage(_, call) {
              const statuses = Object.fromEntries([...names].map((name) => [name, answer()]));
              call.reply(create(pb.HealthListResponseSchema, { statuses }));
            },
          }),
        ],
        [
          "/grpc.health.v1.Health/Watch",
          ownMethod(watch, {
            onMessage({ service }, call) {
              if (!names.has(service)) {
                call.send(answer(SERVICE_UNKNOWN));
                return;
              }
              watchers.add(call);
              call.onLeave = () => watchers.delete(call);
              notifyWatcher(call);
            },
          }),
        ],
      ]);
    },
    setServing: (now) => {
      if (now === isServing) return;
      isServing = now;
      for (const watcher of watchers) notifyWatcher(watcher);
    },
  };
}
