import type { Ready } from "../control.ts";
import type { Work } from "../cpu-probe.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { createHttpLoader } from "../load/http.ts";
import { grpcStream, sseStream } from "../rows/chunk.ts";
import { httpJsonCall, jsonRpcCall, sendParams } from "../wire.ts";

const chunks = 1_000;

/** Load by name: `run(count)` makes so many unary calls, 16 at once, or streams so many chunks, one stream at a time. */
export async function openLoad(call: string, verb: "message" | "task", server: Ready): Promise<Work> {
  const { http: port, grpc } = server;
  switch (call) {
    case "jsonrpc":
      return createHttpLoader({ port, call: jsonRpcCall("SendMessage", (n) => sendParams(verb, n)), check });
    case "http-json":
      return createHttpLoader({ port, call: httpJsonCall("message:send", (n) => sendParams(verb, n)), check });
    case "grpc": {
      const loader = await createGrpcLoader(grpc);
      return { run: (count) => loader.run(verb, count, check), [Symbol.dispose]: () => loader[Symbol.dispose]() };
    }
    case "sse":
      return perChunk(sseStream(server, chunks));
    case "grpc-stream":
      return perChunk(await grpcStream(server, chunks));
    default:
      throw new Error(`--call ${call}: the calls are jsonrpc, http-json, grpc, sse, grpc-stream`);
  }
}

function perChunk(streams: Work): Work {
  return {
    run: (count) => streams.run(Math.ceil(count / chunks)),
    [Symbol.dispose]: () => streams[Symbol.dispose](),
  };
}

/** The rows check the answers; here only time counts. */
function check(): void {}
