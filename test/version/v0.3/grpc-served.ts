import { type DescMessage, fromBinary, fromJson, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { A2AService } from "../../../gen/a2a/v1/a2a_pb.js";
import { type ServedAgent, type ServedOptions, startAgent } from "../../support/serve-agent.js";
import { agent } from "./proto-served.js";

type Rpc = (typeof A2AService.methods)[number]["name"];

/** An agent's gRPC interface, called by a foreign client with the schema of 0.3. */
export interface OldGrpc extends AsyncDisposable {
  readonly served: ServedAgent;
  readonly client: Client;
  call(rpc: Rpc, request: JsonObject, headers?: Readonly<Record<string, string>>): Promise<JsonObject>;
  stream(rpc: Rpc, request: JsonObject): Promise<JsonObject[]>;
}

export async function startGrpc(options: Partial<ServedOptions> = {}): Promise<OldGrpc> {
  const served = await startAgent("GRPC", { agent, push: { allow: "loopback" }, ...options });
  const client = new Client(`127.0.0.1:${served.server.grpcPort}`, credentials.createInsecure());
  return {
    served,
    client,
    call: (rpc, request, headers = {}) =>
      new Promise((resolve, reject) => {
        const { path, write, read } = methodOf(rpc);
        const metadata = new Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        client.makeUnaryRequest(path, write, read, request, metadata, (error, reply) =>
          error === null ? resolve(reply ?? {}) : reject(error),
        );
      }),
    async stream(rpc, request) {
      const { path, write, read } = methodOf(rpc);
      const events: JsonObject[] = [];
      for await (const event of client.makeServerStreamRequest(path, write, read, request)) events.push(event);
      return events;
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await served[Symbol.asyncDispose]();
    },
  };
}

function methodOf(rpc: Rpc) {
  const method = A2AService.methods.find(({ name }) => name === rpc);
  if (method === undefined) throw new TypeError(`no RPC ${rpc}`);
  const { input, output } = method;
  return {
    path: `/a2a.v1.A2AService/${rpc}`,
    write: (request: JsonObject): Buffer =>
      Buffer.from(toBinary(input as DescMessage, fromJson(input as DescMessage, request))),
    read: (bytes: Buffer): JsonObject =>
      toJson(output as DescMessage, fromBinary(output as DescMessage, bytes)) as JsonObject,
  };
}

/** Returns the status of a failed call. */
export async function statusOf(call: Promise<unknown>): Promise<ServiceError> {
  return (await call.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => error,
  )) as ServiceError;
}
