import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { TlsOptions } from "node:tls";
import { type BareServer, watched } from "./bare-server.js";

export interface HttpPeer extends BareServer {
  readonly url: string;
  readonly requests: readonly PeerRequest[];
}

interface PeerRequest {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** An HTTP server with custom responses that records its requests. */
export async function httpPeer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  tls?: TlsOptions,
): Promise<HttpPeer> {
  const requests: PeerRequest[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on("error", () => {});
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
    answer(request, response);
  };
  const take = (request: IncomingMessage, response: ServerResponse): void =>
    void listener(request, response).catch(() => {});
  const server = await watched(tls === undefined ? createServer(take) : createTlsServer(tls, take));
  return Object.assign(server, { url: `http${tls === undefined ? "" : "s"}://localhost:${server.port}`, requests });
}

/** Certificates for the key of `localTls`: an expired one, and one of another host. */
export const badCertificates = { expired: certificate("expired"), otherHost: certificate("other-host") };

function certificate(name: string): string {
  return readFileSync(new URL(`./certificates/${name}.pem`, import.meta.url), "utf8");
}
