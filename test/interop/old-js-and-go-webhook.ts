import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface Hook extends AsyncDisposable {
  readonly url: string;
  readonly first: Promise<{ readonly body: Record<string, unknown>; readonly token: string | undefined }>;
}

// Many times the duration of a call. Some agents never make it.
const callMs = 3000;

/** A webhook that waits for one call. */
export async function receiver(): Promise<Hook> {
  const called = Promise.withResolvers<Awaited<Hook["first"]>>();
  const timer = setTimeout(() => called.reject(new Error(`no call came in ${callMs} ms`)), callMs);
  called.promise.catch(() => {});
  const server = createServer(async (request, response) => {
    const token = request.headers["x-a2a-notification-token"];
    called.resolve({ body: (await json(request)) as Record<string, unknown>, token: token?.toString() });
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    first: called.promise,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
