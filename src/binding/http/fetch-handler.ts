import { noop } from "../../protocol/async/noop.js";
import type { A2AError } from "../../protocol/errors.js";
import { BodyWatch } from "../body-watch.js";
import { type CallTimes, defaultListenerLimits } from "../listen/connection.js";
import { bodyCutOff, bodyTooLarge } from "./body-error.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "./http.js";
import { twoHosts } from "./one-host.js";

export interface FetchHandlerOptions {
  /** Mount path, stripped before the endpoint sees the request. Default: none. */
  readonly basePath?: string | undefined;
  /** The time limits of request bodies. Default: the listener's. */
  readonly times?: CallTimes | undefined;
  /** Returns the peer's address if the runtime knows it. Default: unknown. */
  readonly remoteAddress?: ((request: Request) => string | undefined) | undefined;
}

/** Serves an endpoint in any Fetch-standard runtime: Bun, Deno, Next, Hono, workers. */
export function fetchHandler(
  endpoint: HttpEndpoint,
  options: FetchHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const base = (options.basePath ?? "").replace(/\/+$/, "");
  return async (request) => {
    const url = new URL(request.url);
    if (!isBelow(url.pathname, base)) return notFound();
    // `get` joins repeated headers with commas.
    if (request.headers.get("host")?.includes(",") === true) return responseFromReply(twoHosts);
    const reply = await endpoint(new FetchRequest(request, url, url.pathname.slice(base.length), options));
    return reply === undefined ? notFound() : responseFromReply(reply);
  };
}

function isBelow(path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path[base.length] === "/");
}

function notFound(): Response {
  return new Response("not found\n", { status: 404, headers: { "Content-Type": "text/plain" } });
}

class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly secure: boolean;
  readonly #request: Request;
  readonly #host: string;
  readonly #options: FetchHandlerOptions;

  constructor(request: Request, url: URL, path: string, options: FetchHandlerOptions) {
    this.method = request.method;
    this.path = path;
    this.query = url.search.slice(1);
    this.secure = url.protocol === "https:";
    this.#request = request;
    this.#host = url.host;
    this.#options = options;
  }

  get remoteAddress(): string | undefined {
    return this.#options.remoteAddress?.(this.#request);
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }

  async body(maxBytes: number, arrived: (piece: Uint8Array) => void): Promise<Uint8Array> {
    if (Number(this.header("content-length") ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
    const reader = this.#request.body?.getReader();
    if (reader === undefined) return new Uint8Array(0);
    let late: A2AError | undefined;
    const watch = new BodyWatch(this.#options.times ?? defaultListenerLimits, (error) => {
      late = error;
      reader.cancel().catch(noop);
    });
    try {
      const bytes = await readAll(reader, maxBytes, (piece) => {
        watch.add(piece.length);
        arrived(piece);
      });
      if (late !== undefined) throw late;
      return bytes;
    } catch (error) {
      reader.cancel().catch(noop);
      throw error;
    } finally {
      watch.end();
    }
  }

  onLeave(listener: () => void): void {
    const { signal } = this.#request;
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }
}

type ByteReader = ReadableStreamDefaultReader<Uint8Array>;

async function readAll(
  reader: ByteReader,
  maxBytes: number,
  arrived: (piece: Uint8Array) => void,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await nextChunk(reader);
    if (done) break;
    bytes += value.length;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    arrived(value);
    chunks.push(value);
  }
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : joined(chunks, bytes);
}

async function nextChunk(reader: ByteReader): Promise<Awaited<ReturnType<ByteReader["read"]>>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw bodyCutOff(cause);
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

function responseFromReply(reply: HttpReply): Response {
  const { body } = reply;
  const init = { status: reply.status, headers: { ...reply.headers } };
  if (body === undefined) return new Response(null, init);
  if (typeof body === "string") return new Response(body, init);
  return new Response(body instanceof Uint8Array ? new Uint8Array(body) : streamOf(body), init);
}

/** Reads a piece only when the reader pulls; nothing is read ahead. */
function streamOf(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      },
      cancel() {
        iterator.return?.().then(undefined, noop);
      },
    },
    { highWaterMark: 0 },
  );
}
