import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** A webhook on its own port. `until` waits for a call that meets a condition. */
export async function webhook() {
  const calls: Call[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    calls.push({ headers: request.headers, body: await json(request) });
    response.writeHead(204).end();
    for (const wake of waiting) wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    until(holds: (call: Call) => boolean): Promise<Call> {
      return new Promise((resolve) => {
        const look = (): void => {
          const call = calls.find(holds);
          if (call === undefined) return;
          waiting.delete(look);
          resolve(call);
        };
        waiting.add(look);
        look();
      });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whether the body of an older version's webhook call is the task in this state. */
export function isTask(body: unknown, id: string, state: string): boolean {
  const { kind, id: taskId, status } = body as { kind?: string; id?: string; status?: { state?: string } };
  return kind === "task" && taskId === id && status?.state === state;
}
