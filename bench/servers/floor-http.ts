import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay, setImmediate as givenWay } from "node:timers/promises";
import { answerText, artifactId, chunkText, parseScript, pausesAfter, type Script, stamp } from "../corpus.ts";
import { portOf } from "./port.ts";

interface SendJson {
  readonly message: { readonly messageId: string; readonly parts: readonly { readonly text: string }[] };
}
interface PageJson {
  readonly pageSize: number;
  readonly pageToken?: string;
}
interface RequestJson {
  readonly id: number;
  readonly method: string;
  readonly params: SendJson & PageJson;
}
type Wrap = (result: object) => string;

/** Tasks that were made, for the row that lists them; not a store, an array. */
const tasks: object[] = [];

export async function listenHttp(): Promise<number> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => answer(request, Buffer.concat(pieces).toString(), response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return portOf(server);
}

function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
  if (request.url?.startsWith("/http-json/")) {
    const params: SendJson = JSON.parse(body);
    const verb = request.url.slice("/http-json/".length);
    const form = { wrap: JSON.stringify, type: "application/a2a+json" };
    if (verb === "message:stream") void stream(response, scriptOf(params), form.wrap);
    else send(response, params, form);
    return;
  }
  const { id, method, params }: RequestJson = JSON.parse(body);
  const wrap: Wrap = (result) => JSON.stringify({ jsonrpc: "2.0", id, result });
  const type = "application/json";
  if (method === "ListTasks") end(response, wrap(page(params)), type);
  else if (method === "SendStreamingMessage") void stream(response, scriptOf(params), wrap);
  else send(response, params, { wrap, type });
}

interface ReplyForm {
  readonly wrap: Wrap;
  readonly type: string;
}

function send(response: ServerResponse, params: SendJson, { wrap, type }: ReplyForm): void {
  end(response, wrap(scriptOf(params).verb === "message" ? reply() : task(params.message)), type);
}

function scriptOf({ message }: SendJson): Script {
  return parseScript(message.parts[0]?.text ?? "");
}

function end(response: ServerResponse, body: string, type: string): void {
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function reply(): object {
  const ids = { messageId: randomUUID(), contextId: randomUUID() };
  return { message: { ...ids, role: "ROLE_AGENT", parts: [{ text: answerText }] } };
}

function task(message: SendJson["message"]): object {
  const ids = { id: randomUUID(), contextId: randomUUID() };
  const status = { state: "TASK_STATE_COMPLETED", timestamp: new Date().toISOString() };
  const finishedTask = {
    ...ids,
    status,
    artifacts: [{ artifactId: randomUUID(), parts: [{ text: answerText }] }],
    history: [{ ...message, taskId: ids.id, contextId: ids.contextId }],
  };
  tasks.push({ id: finishedTask.id, contextId: finishedTask.contextId, status });
  return { task: finishedTask };
}

function page({ pageSize, pageToken }: PageJson): object {
  const from = Number(pageToken ?? 0);
  const slice = tasks.slice(from, from + pageSize);
  return { tasks: slice, nextPageToken: String(from + pageSize), pageSize, totalSize: tasks.length };
}

/** One event, one write, and back to the event loop; a socket that does not drain is waited for. */
async function stream(response: ServerResponse, script: Script, wrap: Wrap): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const ids = { taskId: randomUUID(), contextId: randomUUID() };
  let sequence = 0;
  const write = async (event: object) => {
    const hasRoom = response.write(`id: ${ids.taskId}:${sequence++}\ndata: ${wrap(event)}\n\n`);
    await (hasRoom ? givenWay() : once(response, "drain"));
  };
  const status = (state: string) => ({ state: `TASK_STATE_${state}`, timestamp: new Date().toISOString() });
  const chunk = (text: string, append: boolean) =>
    write({ artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, append } });

  await write({ task: { id: ids.taskId, contextId: ids.contextId, status: status("WORKING") } });
  if (script.verb === "hold") return;
  for (let index = 0; index < script.count; index++) {
    if (script.verb === "paced" && pausesAfter(index, script.count)) await delay(1);
    await chunk(script.verb === "rush" && index === 0 ? stamp() : chunkText(index), index > 0);
  }
  await write({ statusUpdate: { ...ids, status: status("COMPLETED") } });
  response.end();
}
