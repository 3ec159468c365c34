import type { A2AError } from "../protocol/errors.js";

/** How loaded the process is, as its host measures it. */
export interface ProcessLoad {
  /** Which sends are refused now; `undefined` while there is room for all. Every send asks. */
  overload(): Overload | undefined;
}

/** An overload, as measured once. The next measurement makes a new object. */
export interface Overload {
  /** `"all"` sends, or those of owners who hold more than their share. */
  readonly refuses: "excess" | "all";
  /** Counts a refused send and returns its error. */
  refuse(): A2AError;
}
