import type { CallOptions, ReadHeader } from "../protocol/context.js";

/** How long a caller waits: `5S`, `300m` (gRPC). Over HTTP it counts in every binding. */
const timeoutHeader = "grpc-timeout";
const connectTimeoutHeader = "connect-timeout-ms";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
/** Longer timeouts, about 25 days, exceed what a timer can measure and count as none. */
export const endlessMs = 2 ** 31;
/** The largest timeout that gRPC can send, about a day: eight digits. Longer ones are not sent. */
export const timeoutMaxMs = 99_999_999;

/** When the caller of an HTTP request stops waiting, in milliseconds since 1970. A value that cannot be read counts as none. */
export function deadlineIn(header: ReadHeader): number | undefined {
  const timeout = header(timeoutHeader);
  const connectTimeout = timeout === undefined ? header(connectTimeoutHeader) : undefined;
  if (timeout === undefined && connectTimeout === undefined) return undefined;
  return deadlineOf(timeoutOf(timeout ?? `${connectTimeout}m`));
}

/** Converts a timeout to a time in milliseconds since 1970; `undefined` if it is too far away. */
export function deadlineOf(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined || !(timeoutMs < endlessMs) ? undefined : Date.now() + timeoutMs;
}

/** The milliseconds of a gRPC timeout. */
export function timeoutOf(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,10})([HMSmun])$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (unitMs[unit] ?? 0);
}

/** Adds the time limit of a call to its headers. */
export function withTimeout(options: CallOptions): CallOptions {
  const { timeoutMs = Number.POSITIVE_INFINITY, headers } = options;
  if (timeoutMs > timeoutMaxMs) return options;
  return { ...options, headers: { [timeoutHeader]: `${Math.ceil(timeoutMs)}m`, ...headers } };
}
