import { leaveStream } from "../../protocol/async/steps.js";
import type { NodeResponse } from "./node-request.js";
import { watchStall } from "./reply-stall.js";

export type Pieces = AsyncIterable<string | Uint8Array>;

/** Writes pieces as they come, with back pressure: a full socket pauses the reading of pieces. */
export class PieceWriter {
  readonly #res: NodeResponse;
  readonly #iterator: AsyncIterator<string | Uint8Array>;
  readonly #stallMs: number;
  /** `full`: waiting for the socket to drain. `left`: the peer has disconnected. */
  #state: "open" | "full" | "left" = "open";
  #isWatched = false;

  constructor(res: NodeResponse, iterator: AsyncIterator<string | Uint8Array>, stallMs: number) {
    this.#res = res;
    this.#iterator = iterator;
    this.#stallMs = stallMs;
  }

  start(): void {
    this.#res.on("close", this.#onClose);
    this.#pull();
  }

  #pull(): void {
    this.#iterator.next().then(this.#onPiece, this.#onFailure);
  }

  readonly #onPiece = (piece: IteratorResult<string | Uint8Array>): void => {
    if (this.#state === "left") return;
    if (piece.done === true) {
      this.#res.end();
      watchStall(this.#res, this.#stallMs);
      return;
    }
    if (write(this.#res, piece.value)) {
      this.#pull();
      return;
    }
    this.#state = "full";
    this.#res.once("drain", () => this.#onDrain());
    if (!this.#isWatched) watchStall(this.#res, this.#stallMs);
    this.#isWatched = true;
  };

  #onDrain(): void {
    if (this.#state !== "full") return;
    this.#state = "open";
    this.#pull();
  }

  readonly #onFailure = (): void => {
    if (this.#state !== "left") this.#res.destroy();
  };

  readonly #onClose = (): void => {
    this.#state = "left";
    if (!this.#res.writableEnded) leaveStream(this.#iterator);
  };
}

function write(res: NodeResponse, piece: string | Uint8Array): boolean {
  // An empty chunk would end a chunked body.
  if (piece.length === 0) return true;
  return "stream" in res ? res.write(http2Body(piece)) : res.write(piece);
}

/** Node reserves three bytes for each character of a text until an HTTP/2 peer has taken it. */
export function http2Body(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}
