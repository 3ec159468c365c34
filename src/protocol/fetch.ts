// The part of `fetch` that this framework calls and reads, so that something leaner may stand in its place, and what it
// fails with.

/** One request. `fetch` itself is one of these. */
export type Fetch = (url: string, init?: FetchInit) => Promise<HttpAnswer>;

export interface FetchInit {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams;
  readonly signal?: AbortSignal;
  /** Default: followed, as far as that is safe. */
  readonly redirect?: "error" | "manual";
}

/** An answer whose body has not been read. */
export interface HttpAnswer {
  readonly status: number;
  /** True for the statuses from 200 to 299. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null; has(name: string): boolean };
  readonly body: AnswerBody | null;
  /** The whole body, decoded. */
  text(): Promise<string>;
}

/** A body as it comes. Cancelling it frees the connection. */
export interface AnswerBody {
  getReader(): AnswerReader;
  cancel(): Promise<void>;
}

export interface AnswerReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Reads a `Retry-After` header: the delay in milliseconds, at least 0. `undefined` if it is missing or invalid. */
export function retryAfterOf(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}

const longestChain = 8;

/** A failure and its causes. They lose the bytes of an answer: undici and `fetch` keep what they could not parse. */
export function causesOf(failure: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let error = failure; error instanceof Error && causes.length < longestChain; error = error.cause) {
    if (error.name === "HTTPParserError") Reflect.deleteProperty(error, "data");
    causes.push(error);
  }
  return causes;
}
