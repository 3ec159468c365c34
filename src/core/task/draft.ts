import type { LogRecord } from "../ports.js";

/** A record without a number. */
export type Draft = Unnumbered<LogRecord>;
type Unnumbered<R> = R extends LogRecord ? Omit<R, "seq"> : never;
