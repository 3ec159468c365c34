import { createServer, type IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { serveHttp } from "../../support/http-agent.js";

interface Hooked {
  readonly headers: IncomingHttpHeaders;
  readonly json: JsonObject;
}

/** A webhook that records its calls. */
export interface Hooks extends AsyncDisposable {
  readonly url: string;
  /** Returns the next call about this task. */
  next(taskId: string): Promise<Hooked>;
}

export async function bareHooks(): Promise<Hooks> {
  const waiting = new Map<string, (hooked: Hooked) => void>();
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    request.on("end", () => {
      const json = JSON.parse(text) as JsonObject;
      waiting.get(String(json["taskId"]))?.({ headers: request.headers, json });
      response.writeHead(204).end();
    });
  });
  const running = await serveHttp(server);
  return {
    url: `${running.url}/hook`,
    next: (taskId) => new Promise((resolve) => waiting.set(taskId, resolve)),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
