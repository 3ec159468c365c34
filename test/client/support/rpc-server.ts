import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { serveHttp } from "../../support/http-agent.js";
import { cardOf, interfaceAt } from "./cards.js";

/** A JSON-RPC request that the server received. */
export interface RpcRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly params: JsonObject;
}

export type RpcAnswer = (response: ServerResponse, request: RpcRequest) => void;

export interface RpcServer extends AsyncDisposable {
  readonly url: string;
  /** A card that lists only this server. */
  readonly card: JsonObject;
  readonly requests: readonly RpcRequest[];
}

/** A JSON-RPC server that gives the answers in turn and repeats the last one. */
export async function rpcServer(...answers: readonly RpcAnswer[]): Promise<RpcServer> {
  const requests: RpcRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const { method, params } = JSON.parse(await text(incoming)) as { method: string; params: JsonObject };
    const request = { url: incoming.url ?? "", headers: incoming.headers, method, params };
    const answer = answers[Math.min(requests.push(request), answers.length) - 1];
    answer?.(response, request);
  });
  const served = await serveHttp(server);
  return {
    url: served.url,
    card: cardOf([interfaceAt("JSONRPC", served.url)]),
    requests,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** A response with a result. */
export const result = (value: JsonObject): RpcAnswer => json({ result: value });

/** A response with an agent's error. */
export const rpcError = (code: number): RpcAnswer => json({ error: { code, message: "the agent says no" } });

function json(member: JsonObject): RpcAnswer {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...member });
  return (response) => response.writeHead(200, { "content-type": "application/json" }).end(body);
}

/** A response with an HTTP status and headers. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): RpcAnswer =>
  (response) =>
    response.writeHead(code, headers).end();

/** No response. */
export const silence: RpcAnswer = () => {};
