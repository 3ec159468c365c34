import { type IncomingMessage, request } from "node:http";
import type { HttpCall } from "../wire.ts";
import { openConnection } from "./connection.ts";

export interface HttpLoad {
  readonly port: number;
  readonly call: HttpCall;
  /** Throws unless the body is the right answer to call `n`. */
  readonly check: (body: string, n: number) => void;
}

/** Keeps a fixed number of calls in flight over as many kept-alive connections, and checks every answer. */
export interface HttpLoader extends Disposable {
  run(count: number): Promise<void>;
}

export function createHttpLoader({ port, call, check }: HttpLoad, concurrency = 16): HttpLoader {
  const connections = Array.from({ length: concurrency }, () => openConnection(port));
  let next = 0;
  return {
    run: async (count) => {
      const end = next + count;
      const worker = async (connection: (typeof connections)[number]) => {
        while (next < end) {
          const n = next++;
          const { status, body } = await connection.exchange(requestText(call, n));
          if (status !== 200) throw new Error(`HTTP ${status}: ${body.slice(0, 200)}`);
          check(body, n);
        }
      };
      await Promise.all(connections.map(worker));
    },
    [Symbol.dispose]: () => {
      for (const connection of connections) connection[Symbol.dispose]();
    },
  };
}

/** A request as text; the bodies of the corpus are ASCII, so characters are bytes. */
export function requestText(call: HttpCall, n: number): string {
  const body = call.body(n);
  const head = `POST ${call.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${call.contentType}\r\na2a-version: 1.0\r\n`;
  return `${head}${call.headers?.(n) ?? ""}content-length: ${body.length}\r\n\r\n${body}`;
}

/** Posts call `n` once and gives the body of its answer; any status but 200 throws. */
export async function post(
  port: number,
  call: HttpCall,
  n: number,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await open(port, call, n, more);
  response.setEncoding("utf8");
  let body = "";
  for await (const piece of response) body += piece;
  if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}: ${body.slice(0, 200)}`);
  return body;
}

/** Posts call `n` on a connection of its own and gives the response as soon as its head is there. */
export function open(
  port: number,
  call: HttpCall,
  n: number,
  more: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const body = Buffer.from(call.body(n));
  const headers = { "content-type": call.contentType, "content-length": body.length, "a2a-version": "1.0", ...more };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: call.path, method: "POST", agent: false, headers }, resolve)
      .on("error", reject)
      .end(body);
  });
}
