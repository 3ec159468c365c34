import { noop } from "./async/noop.js";

// The part of `fetch` that this framework uses, so that a leaner implementation can replace it, and its errors.

/** Sends one request. The global `fetch` is assignable to this type. */
export type Fetch = (url: string, init?: FetchInit) => Promise<HttpAnswer>;

export interface FetchInit {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams;
  readonly signal?: AbortSignal;
  /** Default: follows redirects if that is safe. */
  readonly redirect?: "error" | "manual";
}

/** A response whose body has not been read. */
export interface HttpAnswer {
  readonly status: number;
  /** Whether the status is between 200 and 299. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null; has(name: string): boolean };
  readonly body: AnswerBody | null;
  /** The whole body, decoded. */
  text(): Promise<string>;
}

/** A body as a stream of pieces. Cancelling it frees the connection. */
export interface AnswerBody {
  getReader(): AnswerReader;
  cancel(): Promise<void>;
}

export interface AnswerReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Reads a body as text. Cancels it and throws what `tooLarge` returns once it has more than `maxBytes` bytes. */
export async function readTextWithin(reader: AnswerReader, maxBytes: number, tooLarge: () => Error): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) {
      reader.cancel().then(undefined, noop);
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Reads a `Retry-After` header: the delay in milliseconds, at least 0. `undefined` if it is missing or invalid. */
export function readRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}

const longestChain = 8;

/**
 * Returns a failure and its causes. Removes the response bytes that undici and `fetch` attach when they cannot parse
 * them.
 */
export function listCauses(failure: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let error = failure; error instanceof Error && causes.length < longestChain; error = error.cause) {
    if (error.name === "HTTPParserError") Reflect.deleteProperty(error, "data");
    causes.push(error);
  }
  return causes;
}
