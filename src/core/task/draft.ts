import type { LogRecord } from "../ports.js";

/** A record without a number. */
export type Draft = WithoutSeq<LogRecord>;
type WithoutSeq<R> = R extends LogRecord ? Omit<R, "seq"> : never;
