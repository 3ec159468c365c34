import { Agent, type IncomingHttpHeaders, request as nodeRequest } from "node:http";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createParser } from "eventsource-parser";
import { expect } from "vitest";
import type { Operation } from "../../src/protocol/operations.js";
import { httpAdapter, rpcAdapter } from "./http-agent.js";
import { expectDetails, type RawOutcome, type RawWire } from "./raw-wire.js";
import { httpFormOf } from "./spoiled-http.js";
import { type FaultyRequest, fullRequest } from "./spoiled-request.js";

/** An HTTP answer as received. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface HttpAsk {
  readonly method?: string | undefined;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
  readonly body?: string | Uint8Array | undefined;
}

/** One keep-alive HTTP/1.1 connection. */
export interface HttpLine extends Disposable {
  ask(request: HttpAsk): Promise<HttpAnswer>;
}

export function httpLine(port: number): HttpLine {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: ({ method = "POST", target, headers, body }) =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, agent, method, path: target, headers: { ...headers } };
        const request = nodeRequest(options, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (piece: string) => {
            text += piece;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
          response.on("error", reject);
        });
        request.on("error", reject).end(body);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

export const json = { "Content-Type": "application/json" };

/** Handmade JSON-RPC. */
export function rawJsonRpc(port: number): RawWire {
  const line = httpLine(port);
  let ids = 0;
  const call = async ({ method }: Operation, params: JsonObject): Promise<RawOutcome> => {
    const id = ++ids;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const answer = await line.ask({ target: "/json-rpc", headers: json, body });
    // A request refused because of its headers is answered before its id is read; a store failure comes later.
    return rpcOutcome(answer, answer.status === 200 || answer.status === 503 ? id : null);
  };
  return {
    call,
    withFault: (operation, { json, names }) => ({ names, send: () => call(operation, json) }),
    [Symbol.dispose]: () => line[Symbol.dispose](),
  };
}

/** Parses an answer of JSON-RPC: one reply, or a stream of replies. */
export function rpcOutcome(answer: HttpAnswer, id: JsonValue): RawOutcome {
  let error: RawOutcome["error"];
  for (const text of textsOf(answer)) {
    const reply = JSON.parse(text) as JsonObject;
    expect(reply).toMatchObject({ jsonrpc: "2.0", id });
    expect(new Set(Object.keys(reply))).toEqual(new Set(["jsonrpc", "id", "error" in reply ? "error" : "result"]));
    if (!("error" in reply)) continue;
    expect(reply["error"]).toEqual({ code: expect.any(Number), message: expect.any(String), data: expect.any(Array) });
    expectDetails((reply["error"] as JsonObject)["data"]);
    error = rpcAdapter.readError(reply["error"]);
  }
  return { error, text: answerText(answer) };
}

/** Handmade HTTP+JSON. */
export function rawHttpJson(port: number): RawWire {
  const line = httpLine(port);
  const send = async (request: HttpAsk): Promise<RawOutcome> => httpOutcome(await line.ask(request));
  return {
    call(operation, request) {
      const form = httpFormOf(operation, request);
      return form === undefined ? Promise.reject(new TypeError("no such request over HTTP+JSON")) : send(form);
    },
    withFault(operation: Operation, spoiled: FaultyRequest) {
      const form = httpFormOf(operation, spoiled.json, {
        faultyRequest: spoiled,
        validRequest: fullRequest(operation.input),
      });
      return form && { names: form.names, send: () => send(form) };
    },
    [Symbol.dispose]: () => line[Symbol.dispose](),
  };
}

/** Parses an answer of HTTP+JSON. */
export function httpOutcome(answer: HttpAnswer): RawOutcome {
  const texts = textsOf(answer);
  const text = answerText(answer);
  if (answer.status === 200) return { error: undefined, text };
  const body = JSON.parse(texts[0] ?? "") as JsonObject;
  const status = expect.stringMatching(/^[A-Z_]+$/);
  expect(body).toEqual({
    error: { code: answer.status, status, message: expect.any(String), details: expect.any(Array) },
  });
  expectDetails((body["error"] as JsonObject)["details"]);
  return { error: httpAdapter.readError(answer.status, body), text };
}

function textsOf({ headers, text }: HttpAnswer): string[] {
  if (headers["content-type"] !== "text/event-stream") {
    expect(headers["content-type"]).toMatch(/^application\/(a2a\+)?json$/);
    return [text];
  }
  const events: string[] = [];
  createParser({ onEvent: ({ data }) => events.push(data) }).feed(text);
  return events;
}

function answerText({ status, headers, text }: HttpAnswer): string {
  return `${status} ${JSON.stringify(headers)}\n${text}`;
}
