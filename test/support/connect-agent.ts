import { type Client, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { createConnectEndpoint } from "../../src/binding/connect/endpoint.js";
import { nodeListener } from "../../src/binding/http/node-listener.js";
import { createListener } from "../../src/binding/listen/listener.js";
import type { Service } from "../../src/binding/service.js";
import { A2AService } from "../../src/protocol/model.js";
import { adapter } from "./grpc-agent.js";

export const webProtocols = ["connect json", "connect binary", "grpc-web json", "grpc-web binary"] as const;
type WebProtocol = (typeof webProtocols)[number];

export interface ConnectAgent {
  readonly url: string;
  readonly port: number;
  readonly faults: readonly unknown[];
  client(protocol: WebProtocol, httpVersion?: "1.1" | "2"): Client<typeof A2AService>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves a service over Connect and gRPC-Web, with the official clients for both. */
export async function connectAgent(service: Service, adapters = [adapter]): Promise<ConnectAgent> {
  const faults: unknown[] = [];
  const endpoint = createConnectEndpoint({ adapters, service });
  const http = nodeListener(endpoint, { onError: (fault) => faults.push(fault) });
  const listener = await createListener({ host: "127.0.0.1", port: 0, http });
  const url = `http://127.0.0.1:${listener.port}`;
  return {
    url,
    port: listener.port,
    faults,
    client: (protocol, httpVersion = "1.1") => createClient(A2AService, transport(url, protocol, httpVersion)),
    [Symbol.asyncDispose]: () => listener.close(),
  };
}

function transport(baseUrl: string, protocol: WebProtocol, httpVersion: "1.1" | "2"): Transport {
  const options = { baseUrl, httpVersion, useBinaryFormat: protocol.endsWith("binary") };
  return protocol.startsWith("connect") ? createConnectTransport(options) : createGrpcWebTransport(options);
}

/** The error that a call fails with. */
export async function connectErrorOf(call: Promise<unknown>): Promise<ConnectError> {
  return (await call.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => error,
  )) as ConnectError;
}
