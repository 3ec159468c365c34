import { type Server, startServer } from "../child.ts";
import { post } from "../load/http.ts";
import type { Effort, Probe, Row } from "../row.ts";
import { assertReply, assertTask, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const agents = 20;
/** Calls that an agent has answered, of each kind. */
const calls = 50;
/** Enough for the code that the calls run to be compiled. */
const warmUp = 2_000;

/** What another agent costs in memory on a port that has many. */
export function manyAgentsRows({ quick }: Effort): readonly Row[] {
  return [
    {
      name: `agent, ${agents} on one port`,
      unit: "KB",
      what: `resident memory of the server per agent after garbage collection; each has shown its card and answered ${calls} messages with a reply and ${calls} with a task`,
      budgets: [{ of: "unit", atMost: 3 * 1024 }],
      start: { ours: () => Promise.resolve(probe(quick ? warmUp / 4 : warmUp)) },
    },
  ];
}

/** Each measurement has a fresh process: memory that was once used does not come back to the system. */
function probe(warmUp: number): Probe {
  return {
    measure: async () => {
      await using server = await startServer("ours-several.ts");
      await use(server, "/first", warmUp);
      const before = await server.ask("rss");
      for (let number = 0; number < agents; number++) {
        const path = `/agent-${number}`;
        await send(server, "/adds", path, assertReply);
        await use(server, path, calls);
      }
      return ((await server.ask("rss")) - before) / agents / 1024;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Reads the card of an agent, and has it answer so many messages of each kind. */
async function use(server: Server, path: string, count: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.http}${path}/.well-known/agent-card.json`);
  const { name } = (await response.json()) as { readonly name?: string };
  if (name !== path) throw new Error(`the card at ${path} is that of ${name}`);
  for (let n = 0; n < count; n++) {
    await send(server, path, "message", assertReply);
    await send(server, path, "task", assertTask);
  }
}

let next = 0;

async function send(
  { http: port }: Server,
  path: string,
  text: string,
  check: (payload: PayloadJson) => void,
): Promise<void> {
  const n = next++;
  const call = { ...jsonRpcCall("SendMessage", () => sendParams(text, n)), path: `${path}/json-rpc` };
  check(jsonRpcResult<PayloadJson>(await post(port, call, n), n));
}
