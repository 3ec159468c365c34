import type { LogRecord } from "../ports.js";

/** A record that has no number yet. */
export type Draft = Unnumbered<LogRecord>;
type Unnumbered<R> = R extends LogRecord ? Omit<R, "seq"> : never;
