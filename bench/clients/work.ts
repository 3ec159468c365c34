import { answerText, assertChunks } from "../corpus.ts";

/** What a client does in a row, and over which wire. */
export const wires = ["json-rpc", "http-json", "grpc", "sse", "grpc-stream"] as const;
export type Wire = (typeof wires)[number];

/** The chunks of the streams that clients read. */
export const streamLength = 1_000;

/** One client under measure. */
export interface ClientUnderMeasure {
  /** Sends a message and gives the text of the reply. */
  message(n: number): Promise<string>;
  /** Asks for a stream and gives the texts of its chunks. */
  stream(n: number): Promise<readonly string[]>;
}

const concurrency = 16;

/** So many messages, a fixed number in flight; or so many streams, one after the other. Everything is checked. */
export function workOf(client: ClientUnderMeasure, wire: Wire): (count: number) => Promise<void> {
  let next = 0;
  if (wire === "sse" || wire === "grpc-stream") {
    return async (count) => {
      for (let streamed = 0; streamed < count; streamed++) assertChunks(await client.stream(next++), streamLength);
    };
  }
  return async (count) => {
    const end = next + count;
    const worker = async (): Promise<void> => {
      while (next < end) {
        const text = await client.message(next++);
        if (text !== answerText) throw new Error(`"${text}" instead of the reply`);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  };
}

/** The wire and the ports that the harness has started a client with. */
export function argsOf(): { readonly wire: Wire; readonly http: string; readonly port: number } {
  const wire = wires.find((candidate) => candidate === process.argv[2]);
  const port = Number(process.argv[3]);
  if (wire === undefined) throw new Error(`no such wire: ${process.argv[2]}`);
  return { wire, port, http: `http://127.0.0.1:${port}` };
}
