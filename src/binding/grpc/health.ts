import { create } from "@bufbuild/protobuf";
import {
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthListResponse,
} from "../../../gen/grpc/health/v1/health_pb.js";
import { defineService } from "./own-services.js";

/** `grpc.health.v1`, for the whole server (the empty name) and for each service. */
export interface Health {
  /** Registers the service. Loads its descriptor only now, since few servers are called over gRPC. */
  addTo(server: Server): Promise<void>;
  setServing(serving: boolean): void;
}

type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

export function createHealth(services: readonly string[]): Health {
  const names = new Set(["", ...services]);
  const watchers = new Set<Watcher>();
  let isServing = true;
  let notifyWatcher = (_watcher: Watcher): void => {};
  return {
    addTo: async (server) => {
      const pb = await import("../../../gen/grpc/health/v1/health_pb.js");
      const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = pb.HealthCheckResponse_ServingStatus;
      const answer = (status = isServing ? SERVING : NOT_SERVING) => create(pb.HealthCheckResponseSchema, { status });
      notifyWatcher = (watcher) => void watcher.write(answer());
      server.addService(defineService(pb.Health), {
        Check(
          { request }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
          reply: sendUnaryData<HealthCheckResponse>,
        ) {
          if (names.has(request.service)) reply(null, answer());
          else reply({ code: status.NOT_FOUND, details: `the server has no service ${request.service}` });
        },
        List(_: unknown, reply: sendUnaryData<HealthListResponse>) {
          const statuses = Object.fromEntries([...names].map((name) => [name, answer()]));
          reply(null, create(pb.HealthListResponseSchema, { statuses }));
        },
        Watch(watcher: Watcher) {
          if (!names.has(watcher.request.service)) {
            watcher.write(answer(SERVICE_UNKNOWN));
            return;
          }
          watchers.add(watcher);
          watcher.on("cancelled", () => watchers.delete(watcher));
          notifyWatcher(watcher);
        },
      });
    },
    setServing: (now) => {
      if (now === isServing) return;
      isServing = now;
      for (const watcher of watchers) notifyWatcher(watcher);
    },
  };
}
