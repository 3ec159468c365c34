import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";

/** The answer to a gRPC call as it came over the wire. */
export interface RawAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  /** `grpc-status`, from the headers or the trailers. */
  readonly status: number;
  readonly body: Buffer;
}

/** A message in its gRPC frame. */
export function frame(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

export interface RawSession extends Disposable {
  readonly session: ClientHttp2Session;
  /** Calls an RPC with the given bytes as body; without a body the request stays open. */
  call(rpc: string, body: Uint8Array | undefined, headers?: OutgoingHttpHeaders): Promise<RawAnswer>;
}

/** An HTTP/2 connection for handmade gRPC. */
export function rawSession(port: number): RawSession {
  const session = connect(`http://127.0.0.1:${port}`);
  return {
    session,
    [Symbol.dispose]: () => session.destroy(),
    call: (rpc, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const stream = session.request(
          {
            ":method": "POST",
            ":path": `/lf.a2a.v1.A2AService/${rpc}`,
            "content-type": "application/grpc",
            te: "trailers",
            ...headers,
          },
          { endStream: false },
        );
        let first: IncomingHttpHeaders = {};
        let trailers: IncomingHttpHeaders = {};
        const pieces: Buffer[] = [];
        stream.on("response", (received) => {
          first = received;
        });
        stream.on("trailers", (received) => {
          trailers = received;
        });
        stream.on("data", (piece: Buffer) => pieces.push(piece));
        stream.on("error", reject);
        stream.on("end", () => {
          const status = Number(trailers["grpc-status"] ?? first["grpc-status"]);
          resolve({ headers: first, trailers, status, body: Buffer.concat(pieces) });
          stream.close();
        });
        if (body !== undefined) stream.end(body);
      }),
  };
}
