import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/** A webhook that keeps what it is sent; `ended` resolves with the first body that `isLast` takes for the last. */
export async function receiver(isLast) {
  const calls = [];
  let end;
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const server = createServer(async (request, response) => {
    const body = await json(request);
    calls.push({ headers: request.headers, body });
    response.writeHead(204).end();
    if (isLast(body)) end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    calls,
    ended,
    url: `http://127.0.0.1:${server.address().port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
