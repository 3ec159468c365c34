// Asks for much and takes nothing, as one process with its own heap: argv has the port, the ids of a small and of a large
// task, and a seed. Says when it has done so, and holds everything until it is killed.
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";

const [port, small, large, seed] = process.argv.slice(2);
let state = Number(seed);
// Mulberry32.
const next = () => {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};
const sizeUpTo = (most) => Math.floor(2 ** (8 + next() * Math.log2(most / 256)));

const rpc = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const json = { "content-type": "application/json", "a2a-version": "1.0" };

function socket(text) {
  const opened = connect(Number(port), "127.0.0.1");
  opened.on("error", () => {});
  opened.pause();
  return new Promise((resolve) => opened.write(text, resolve));
}

function post(body, length) {
  const head = `POST /json-rpc HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n`;
  return socket(`${head}Content-Length: ${length ?? body.length}\r\n\r\n${body}`);
}

function session() {
  const opened = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  opened.on("error", () => {});
  return opened;
}

function request(opened, headers, body, ends = true) {
  const stream = opened.request(headers);
  stream.on("error", () => {});
  if (ends) stream.end(body);
  else stream.write(body);
  return new Promise((resolve) => {
    for (const event of ["response", "close", ...(ends ? [] : ["ready"])]) stream.once(event, resolve);
  });
}

const jsonRpc = { ":method": "POST", ":path": "/json-rpc", ...json };
const grpc = (method) => ({
  ":method": "POST",
  ":path": `/lf.a2a.v1.A2AService/${method}`,
  "content-type": "application/grpc",
  "a2a-version": "1.0",
  te: "trailers",
});

function grpcMessage(content, length = content.length) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, content]);
}
const idField = (id) => Buffer.concat([Buffer.from([0x12, id.length]), Buffer.from(id)]);

const shared = Array.from({ length: 40 }, session);
const any = () => shared[Math.floor(next() * shared.length)];

const moves = [
  () => post(" ".repeat(sizeUpTo(2 ** 20)), 2 ** 21),
  () => post(rpc("GetTask", { id: next() < 0.5 ? small : large })),
  () => post(rpc("SubscribeToTask", { id: large })),
  () => request(any(), jsonRpc, " ".repeat(sizeUpTo(60_000)), false),
  () => request(any(), jsonRpc, rpc("GetTask", { id: small })),
  () => request(any(), { ...json, ":path": `/http-json/tasks/${next() < 0.7 ? small : large}` }, undefined),
  () => request(any(), grpc("GetTask"), grpcMessage(idField(small))),
  () => request(any(), grpc("SendMessage"), grpcMessage(Buffer.alloc(sizeUpTo(60_000)), 2 ** 20), false),
];

const done = [];
for (let move = 0; move < 4_000; move++) done.push(moves[Math.floor(next() * moves.length)]());
await Promise.race([Promise.all(done), new Promise((resolve) => setTimeout(resolve, 10_000))]);
process.send("held");
