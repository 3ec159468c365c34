import { createServer, type ServerResponse } from "node:http";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { Clock } from "../../../src/protocol/async/clock.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import type { Operations } from "../../../src/protocol/operations.js";
import type { JsonRpcAdapter } from "../../../src/version/codec.js";
import { callV01 } from "../../../src/version/v0.1/calls.js";
import { createV01 } from "../../../src/version/v0.1/v01.js";
import { serveHttp } from "../../support/http-agent.js";

/** A request that an agent of 0.1 receives, with its ways to reply. */
export interface ForeignCall {
  readonly id: JsonValue;
  readonly method: string;
  readonly params: JsonObject;
  readonly response: ServerResponse;
  result(result: JsonValue): void;
  fail(status: number, error: JsonObject): void;
  /** Sends an event of a stream; `raw` is sent unchanged. */
  event(result: JsonValue, raw?: string): void;
}

export interface ForeignAgent extends AsyncDisposable {
  readonly url: string;
  /** Method and params of every request, in order. */
  readonly requests: (readonly [method: string, params: JsonObject])[];
  readonly operations: Operations<CallOptions>;
  readonly pauses: number[];
}

/** Connects a 0.1 client to a server with custom behavior. */
export async function foreignAgent(answer: (call: ForeignCall) => void): Promise<ForeignAgent> {
  const requests: (readonly [string, JsonObject])[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    request.on("end", () => {
      const { id = null, method, params = {} } = JSON.parse(text) as JsonObject;
      requests.push([String(method), params as JsonObject]);
      answer(callOf(response, { id, method: String(method), params: params as JsonObject }));
    });
  });
  const running = await serveHttp(server);
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => Date.now(),
    after(ms, run) {
      pauses.push(ms);
      queueMicrotask(run);
      return () => {};
    },
  };
  return {
    url: running.url,
    requests,
    pauses,
    operations: createJsonRpcTransport({ url: running.url, adapter: adapterWith(clock) }),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

function adapterWith(clock: Clock): JsonRpcAdapter {
  const { jsonRpc } = createV01();
  if (jsonRpc === undefined) throw new TypeError("version 0.1 has no JSON-RPC");
  return { ...jsonRpc, call: (transport) => callV01(transport, clock) };
}

function callOf(response: ServerResponse, call: Pick<ForeignCall, "id" | "method" | "params">): ForeignCall {
  const { id } = call;
  const send = (status: number, json: JsonObject): void => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(json));
  };
  return {
    ...call,
    response,
    result: (result) => send(200, { jsonrpc: "2.0", id, result }),
    fail: (status, error) => send(status, { jsonrpc: "2.0", id, error }),
    event(result, raw) {
      if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(raw ?? `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    },
  };
}
