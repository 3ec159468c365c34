import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuthorizationCodeRequest } from "../../auth/credential-options.js";

const path = "/callback";

/**
 * Listens on a free loopback port for the redirect of the browser (RFC 8252, 7.3), and returns the requested URL. Requests
 * with another `state` are refused: any page in a browser of this machine can send them.
 */
export async function signInByLoopback(
  { urlFor, signal }: AuthorizationCodeRequest,
  show: (url: string) => Promise<void>,
): Promise<string> {
  const { promise: callback, resolve, reject } = Promise.withResolvers<string>();
  let state: string | null = null;
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "", "http://127.0.0.1");
    const isOwn = url?.pathname === path && state !== null && url.searchParams.get("state") === state;
    if (url === null || !isOwn || request.method !== "GET") return answer(response, 404, "There is no page here.");
    const isRefused = url.searchParams.has("error");
    const text = isRefused ? "You are not signed in." : "You are signed in.";
    response.once("close", () => resolve(url.href));
    answer(response, 200, `${text} You can close this window and return to the terminal.`);
  });
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    await new Promise<void>((onListening, onError) => {
      server.once("error", onError);
      server.listen(0, "127.0.0.1", onListening);
    });
    const page = urlFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    state = new URL(page).searchParams.get("state");
    signal.throwIfAborted();
    await show(page);
    return await callback;
  } finally {
    signal.removeEventListener("abort", abort);
    server.close();
    // Browsers open spare connections, which would keep the command running.
    server.closeAllConnections();
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    // The code is in the address of this page.
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`${text}\n`);
}
