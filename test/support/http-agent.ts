import { createServer, type IncomingHttpHeaders, request as nodeRequest, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import type { HttpEndpoint } from "../../src/binding/http/http.js";
import { mount } from "../../src/binding/http/mount.js";
import { type NodeListenerOptions, nodeListener } from "../../src/binding/http/node-listener.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { httpJsonEndpoint } from "../../src/binding/http-json/server.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import { jsonRpcEndpoint } from "../../src/binding/json-rpc/server.js";
import type { Service } from "../../src/binding/service.js";
import type { CallOptions } from "../../src/protocol/context.js";
import type { Operations } from "../../src/protocol/operations.js";
import { v1 } from "../../src/version/v1.0/v1.js";

export const rpcAdapter = v1.jsonRpc ?? throwMissing();
export const httpAdapter = v1.httpJson ?? throwMissing();

export const httpBindings = ["JSONRPC", "HTTP+JSON"] as const;

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Faults that reached the listener. */
  readonly faults: unknown[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves an endpoint on its own port. */
export async function serveEndpoint(endpoint: HttpEndpoint, options: NodeListenerOptions = {}): Promise<HttpServer> {
  const faults: unknown[] = [];
  return serveHttp(
    createServer(nodeListener(endpoint, { onError: (fault) => faults.push(fault), ...options })),
    faults,
  );
}

export async function serveHttp(server: Server, faults: unknown[] = [], atPort = 0): Promise<HttpServer> {
  await new Promise<void>((resolve) => server.listen(atPort, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    faults,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Both JSON bindings of a service as one endpoint. */
export function endpointOf(service: Service): HttpEndpoint {
  const rpc = mount("/json-rpc", jsonRpcEndpoint({ adapters: [rpcAdapter], service }));
  const json = mount("/http-json", httpJsonEndpoint({ adapters: [httpAdapter], service }));
  return (request) => rpc(request) ?? json(request);
}

export interface HttpAgent extends HttpServer {
  readonly clients: { readonly [B in (typeof httpBindings)[number]]: Operations<CallOptions> };
}

/** Serves a service over both JSON bindings on its own port, with a client for each. */
export async function httpAgent(service: Service, options: NodeListenerOptions = {}): Promise<HttpAgent> {
  const server = await serveEndpoint(endpointOf(service), options);
  const clients = {
    JSONRPC: createJsonRpcTransport({ url: `${server.url}/json-rpc`, adapter: rpcAdapter }),
    "HTTP+JSON": createHttpJsonTransport({ url: `${server.url}/http-json`, adapter: httpAdapter }),
  };
  return { ...server, clients };
}

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RawCall {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** One HTTP/1.1 call with exactly the given headers. */
export function rawCall(url: string, { method = "POST", headers = {}, body }: RawCall): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const request = nodeRequest(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** A POST of JSON. */
export function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<RawReply> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return rawCall(url, { headers: { "Content-Type": "application/json", ...headers }, body: text });
}

/** A bare TCP connection, for requests that no HTTP client would send. */
export async function bareSocket(port: number): Promise<Socket & { readonly receivedText: () => string }> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return Object.assign(socket, { receivedText: () => text });
}

function throwMissing(): never {
  throw new TypeError("1.0 has no such binding");
}
