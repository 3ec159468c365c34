import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpEndpoint } from "../../src/binding/http/http.js";
import { nodeListener } from "../../src/binding/http/node-listener.js";

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Question {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves an endpoint on its own port and sends requests to it, with any `host`, which `fetch` does not allow. */
export async function listen(endpoint: HttpEndpoint) {
  const server = createServer(nodeListener(endpoint)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async ask({ method = "GET", path = "/.well-known/agent-card.json", headers = {} }: Question = {}): Promise<Answer> {
      const clientRequest = request({ host: "127.0.0.1", port, method, path, headers, agent: false }).end();
      const [response] = await once(clientRequest, "response");
      let body = "";
      for await (const chunk of response) body += chunk;
      return { status: response.statusCode, headers: response.headers, body };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
