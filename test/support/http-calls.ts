import { request as http1Request } from "node:http";
import { type ClientHttp2Session, connect as http2Connect } from "node:http2";
import { connect, type Socket } from "node:net";

export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
  readonly connection: string | undefined;
}

/** One GET over HTTP/1.1, through a keep-alive agent if one is given. */
export function getOverHttp1(port: number, path: string, agent?: import("node:http").Agent): Promise<PlainAnswer> {
  return new Promise((resolve, reject) => {
    const request = http1Request({ host: "127.0.0.1", port, path, agent: agent ?? false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        body += piece;
      });
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body, connection: response.headers.connection });
      });
    });
    request.on("error", reject).end();
  });
}

/** One GET over an HTTP/2 connection. */
export function getOverHttp2(session: ClientHttp2Session, path: string, headers = {}): Promise<PlainAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, ...headers });
    let status = 0;
    let body = "";
    stream.on("response", (receivedHeaders) => {
      status = Number(receivedHeaders[":status"]);
    });
    stream.setEncoding("utf8").on("data", (piece: string) => {
      body += piece;
    });
    stream.on("error", reject).on("close", () => {
      if (status === 0) reject(new Error("no answer"));
      else resolve({ status, body, connection: undefined });
    });
    stream.end();
  });
}

/** Opens an HTTP/2 connection without TLS. */
export function http2Session(port: number): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = http2Connect(`http://127.0.0.1:${port}`);
    session.once("remoteSettings", () => resolve(session)).on("error", reject);
  });
}

/** A bare connection that records what it receives. */
export interface Wire {
  readonly socket: Socket;
  /** Everything received until the peer closed. */
  readonly whenClosed: Promise<string>;
}

export function wireTo(port: number): Wire {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    text += piece;
  });
  socket.on("error", () => {});
  const closing = new Promise<string>((resolve) => {
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(text));
  });
  return { socket, whenClosed: closing };
}
