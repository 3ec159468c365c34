/**
 * One caller that costs as much as it can, in every way at once: `hostile.ts PORT`. It is asked to run for so many
 * milliseconds. What the server refuses it does not care about; it tries again.
 */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { constants, setPriority } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { serveWork } from "../control.ts";
import { open } from "../load/http.ts";
import { type HttpCall, jsonRpcCall, sendParams } from "../wire.ts";

// Hostile callers have machines of their own: the processor that it needs is not to be missed by the callers that are measured.
setPriority(constants.priority.PRIORITY_LOW);

const port = Number(process.argv[2]);
const authorization = "Bearer mallory";
const mebi = 1 << 20;
let next = 0;

/** One way to be a burden, repeated until the time is over. */
type Attack = (signal: AbortSignal) => Promise<unknown>;

/** How many of each attack run at once, and the pause after each of them in milliseconds. */
const attacks: readonly { readonly attack: Attack; readonly atOnce: number; readonly pauseMs: number }[] = [
  // Much content that finished tasks keep.
  { attack: send(sendText(`task 0 0 ${"y".repeat(4 * mebi - 200)}`)), atOnce: 1, pauseMs: 250 },
  // Artifacts that replace each other, and artifacts beyond number.
  { attack: send(sendText("replace 300 100000")), atOnce: 1, pauseMs: 250 },
  { attack: send(sendText("task 5000 1")), atOnce: 1, pauseMs: 1000 },
  // Tasks that wait for an answer that never comes.
  { attack: send(sendText("ask")), atOnce: 4, pauseMs: 20 },
  // Free JSON of many values and of many names, and an id that is not a safe integer before a large body.
  { attack: send(freeJson()), atOnce: 1, pauseMs: 500 },
  { attack: send(manyNames()), atOnce: 1, pauseMs: 500 },
  { attack: send(largeId()), atOnce: 1, pauseMs: 500 },
  // Bodies that are announced and come byte by byte, over HTTP/1.1 and gRPC.
  { attack: slowBody, atOnce: 45, pauseMs: 100 },
  { attack: partialMessages, atOnce: 4, pauseMs: 1000 },
  // Replies that are asked for and not read.
  {
    attack: unread(jsonRpcCall("ListTasks", () => ({ pageSize: 60, includeArtifacts: true }))),
    atOnce: 25,
    pauseMs: 100,
  },
  { attack: unreadSubscriptions, atOnce: 4, pauseMs: 1000 },
];

serveWork(async (milliseconds) => {
  const signal = AbortSignal.timeout(milliseconds);
  const repeat = async (attack: Attack, pauseMs: number): Promise<void> => {
    while (!signal.aborted) {
      await attack(signal).catch(() => {});
      await delay(pauseMs);
    }
  };
  await Promise.all(
    attacks.flatMap(({ attack, atOnce, pauseMs }) => Array.from({ length: atOnce }, () => repeat(attack, pauseMs))),
  );
});

function sendText(text: string): HttpCall {
  return jsonRpcCall("SendMessage", (n) => sendParams(text, n));
}

function freeJson(): HttpCall {
  const text = sendText("message")
    .body(0)
    .replace(/"parts":\[.*?\]/, '"parts":[{"data":[0]}]');
  return { ...sendText("message"), body: () => text.replace("[0]", `[${"0,".repeat(2.9 * mebi)}0]`) };
}

function manyNames(): HttpCall {
  const metadata = Object.fromEntries(Array.from({ length: 120_000 }, (_, n) => [`key${n}`, 1]));
  return jsonRpcCall("SendMessage", (n) => {
    const { message } = sendParams("task 1 1", n) as { readonly message: object };
    return { message: { ...message, metadata } };
  });
}

function largeId(): HttpCall {
  const call = sendText(`message ${"z".repeat(4 * mebi - 200)}`);
  return { ...call, body: (n) => call.body(n).replace(/"id":\d+/, '"id":90071992547409931') };
}

/** Sends one call and reads the answer to its end. */
function send(call: HttpCall): Attack {
  return async (signal) => {
    const response = await open(port, call, next++, { authorization });
    const stop = () => response.destroy();
    signal.addEventListener("abort", stop, { once: true });
    for await (const _ of response);
    signal.removeEventListener("abort", stop);
  };
}

/** Announces the largest body and sends a byte of it each second. */
function slowBody(signal: AbortSignal): Promise<unknown> {
  const socket = connect({ port, host: "127.0.0.1" });
  const head = `POST /json-rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: ${authorization}`;
  socket.write(`${head}\r\ncontent-length: ${6 * mebi}\r\n\r\n{`);
  const timer = setInterval(() => socket.write(" "), 1000);
  return waitForClose(socket, signal).finally(() => clearInterval(timer));
}

/** Sends most of a large message in each of many gRPC calls, and never the rest. */
function partialMessages(signal: AbortSignal): Promise<unknown> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const head = Buffer.alloc(5);
  head.writeUInt32BE(4 * mebi - 100, 1);
  let attempts = 20;
  for (let stream = 0; stream < 20; stream++) {
    const request = session.request({
      ":method": "POST",
      ":path": "/lf.a2a.v1.A2AService/SendMessage",
      "content-type": "application/grpc",
      te: "trailers",
      "a2a-version": "1.0",
      authorization,
    });
    request.on("error", () => {}).on("close", () => --attempts === 0 && session.destroy());
    request.resume();
    request.write(head);
    request.write(Buffer.alloc(3 * mebi));
  }
  return waitForClose(session, signal);
}

/** Asks for a reply and takes none of it. */
function unread(call: HttpCall): Attack {
  return (signal) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.pause();
    const body = call.body(next++);
    const head = `POST ${call.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\na2a-version: 1.0`;
    socket.write(`${head}\r\nauthorization: ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    return waitForClose(socket, signal);
  };
}

/** Makes a task of 8 MB and subscribes to it fifty times without reading. */
async function unreadSubscriptions(signal: AbortSignal): Promise<void> {
  const start = jsonRpcCall("SendMessage", (n) => sendParams(`hold 8 ${mebi}`, n, { returnImmediately: true }));
  const response = await open(port, start, next++, { authorization });
  let answer = "";
  for await (const piece of response.setEncoding("utf8")) answer += piece;
  const { id } = JSON.parse(answer).result.task;
  const subscribe = unread(jsonRpcCall("SubscribeToTask", () => ({ id })));
  await Promise.all(Array.from({ length: 50 }, () => subscribe(signal)));
  await send(jsonRpcCall("CancelTask", () => ({ id })))(signal);
}

/** Waits until the server closes it, or the time is over. */
function waitForClose(
  connection: { on(event: "close" | "error", listener: () => void): unknown; destroy(): unknown },
  signal: AbortSignal,
): Promise<unknown> {
  return new Promise<void>((resolve) => {
    const stop = () => connection.destroy();
    signal.addEventListener("abort", stop, { once: true });
    connection.on("error", () => {});
    connection.on("close", () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
  });
}
