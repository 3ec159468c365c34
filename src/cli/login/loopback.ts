import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuthorizationCodeRequest } from "../../auth/options.js";

const path = "/callback";

/**
 * Waits on a free loopback port until the browser is called back (RFC 8252, 7.3), and returns the URL that it asked for.
 * Requests with another `state` are refused: any page of this machine's browsers can send some.
 */
export async function signInByLoopback(
  { urlFor, signal }: AuthorizationCodeRequest,
  show: (url: string) => Promise<void>,
): Promise<string> {
  const { promise: called, resolve, reject } = Promise.withResolvers<string>();
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
  const aborted = (): void => reject(signal.reason);
  signal.addEventListener("abort", aborted);
  try {
    await new Promise<void>((listening, failed) => {
      server.once("error", failed);
      server.listen(0, "127.0.0.1", listening);
    });
    const page = urlFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    state = new URL(page).searchParams.get("state");
    signal.throwIfAborted();
    await show(page);
    return await called;
  } finally {
    signal.removeEventListener("abort", aborted);
    server.close();
    // Browsers open connections ahead, which would keep the command from ending for as long as they stay.
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
