import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { serveHttp } from "../../support/http-agent.js";

/** The answer at a path: JSON, or a function that writes the response. */
export type CardAnswer = object | ((request: IncomingMessage, response: ServerResponse) => void);

export interface CardServer extends AsyncDisposable {
  readonly url: string;
  /** Requests so far, in order. */
  readonly requests: readonly IncomingMessage[];
  /** Their paths. */
  readonly paths: readonly (string | undefined)[];
}

/** A server that answers the given paths, and others with 404. */
export async function cardServer(answers: Readonly<Record<string, CardAnswer>>): Promise<CardServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const answer = answers[request.url ?? ""];
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === "function") answer(request, response);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  const served = await serveHttp(server);
  return {
    url: served.url,
    requests,
    get paths() {
      return requests.map(({ url }) => url);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** A response with a status, headers and a body. */
export function answered(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): CardAnswer {
  return (_, response) => response.writeHead(status, headers).end(body);
}
