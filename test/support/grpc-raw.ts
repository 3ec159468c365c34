import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";

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

/** A call whose request is open. */
interface OpenRawCall {
  readonly stream: ClientHttp2Stream;
  /** The answer. */
  readonly answer: Promise<RawAnswer>;
}

export interface RawSession extends Disposable {
  readonly session: ClientHttp2Session;
  /** Opens a call of an RPC. */
  open(rpc: string, headers?: OutgoingHttpHeaders): OpenRawCall;
  /**
   * Calls an RPC with the given bytes as body; without a body the request stays open until the answer has come.
   */
  call(rpc: string, body: Uint8Array | undefined, headers?: OutgoingHttpHeaders): Promise<RawAnswer>;
}

/** An HTTP/2 connection for handmade gRPC. */
export function rawSession(port: number): RawSession {
  const session = connect(`http://127.0.0.1:${port}`);
  // Its calls fail with it.
  session.on("error", () => {});
  const open = (rpc: string, headers: OutgoingHttpHeaders = {}): OpenRawCall => {
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
    return { stream, answer: answerOf(stream) };
  };
  return {
    session,
    open,
    [Symbol.dispose]: () => session.destroy(),
    call: async (rpc, body, headers) => {
      const { stream, answer: ended } = open(rpc, headers);
      if (body !== undefined) stream.end(body);
      const answer = await ended;
      stream.close();
      return answer;
    },
  };
}

function answerOf(stream: ClientHttp2Stream): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const pieces: Buffer[] = [];
    stream.on("response", (receivedHeaders) => {
      headers = receivedHeaders;
    });
    stream.on("trailers", (receivedHeaders) => {
      trailers = receivedHeaders;
    });
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("error", reject);
    // Does nothing behind an answer or an error.
    stream.on("close", () => reject(new Error("the stream was closed without an answer")));
    stream.on("end", () => {
      const status = Number(trailers["grpc-status"] ?? headers["grpc-status"]);
      resolve({ headers, trailers, status, body: Buffer.concat(pieces) });
    });
  });
}
