import { connect, type Socket } from "node:net";

/**
 * A kept-alive HTTP/1.1 connection that does one exchange at a time and no more than that takes. `node:http` as a client
 * costs several times a bare server, which would then wait for its load instead of working it off.
 */
export interface Connection extends Disposable {
  exchange(request: string): Promise<HttpAnswer>;
}

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

interface PendingAsk {
  resolve(answer: HttpAnswer): void;
  reject(error: Error): void;
}

export function openConnection(port: number): Connection {
  let receivedText = "";
  let pendingAsk: PendingAsk | undefined;
  const fail = (error: Error) => {
    pendingAsk?.reject(error);
    pendingAsk = undefined;
  };
  const onData = (piece: string): void => {
    receivedText += piece;
    const answer = parseAnswer(receivedText);
    if (!answer) return;
    receivedText = "";
    const { resolve } = pendingAsk ?? {};
    pendingAsk = undefined;
    resolve?.(answer);
  };
  const open = (): Socket =>
    connect({ port, host: "127.0.0.1", noDelay: true })
      .setEncoding("latin1")
      .on("error", fail)
      .on("end", () => fail(new Error("the server closed a kept-alive connection")))
      .on("data", onData);
  let socket = open();
  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        // While the other sides had their turn the server may have closed what was idle.
        if (socket.readableEnded || socket.destroyed) socket = open();
        pendingAsk = { resolve, reject };
        socket.write(request);
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** The answer when all of it is there; its characters are bytes until here. */
function parseAnswer(receivedText: string): HttpAnswer | undefined {
  const headEnd = receivedText.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = receivedText.slice(0, headEnd).toLowerCase();
  const content = receivedText.slice(headEnd + 4);
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  const bytes = length === undefined ? joinChunks(content) : complete(content, Number(length));
  if (bytes === undefined) return undefined;
  return { status: Number(head.slice(9, 12)), body: Buffer.from(bytes, "latin1").toString() };
}

function complete(content: string, length: number): string | undefined {
  if (content.length > length) throw new Error("more bytes than the content length said");
  return content.length === length ? content : undefined;
}

function joinChunks(content: string): string | undefined {
  let bytes = "";
  let at = 0;
  for (;;) {
    const lineEnd = content.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(content.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (content.length < end) return undefined;
    if (size === 0) return bytes;
    bytes += content.slice(lineEnd + 2, end - 2);
    at = end;
  }
}
