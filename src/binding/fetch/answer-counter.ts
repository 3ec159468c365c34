import { AsyncLocalStorage } from "node:async_hooks";

/** Called with the size of each piece of an answer that a client reads, for the calls that are made within `run`. */
export const answerCounter = new AsyncLocalStorage<(bytes: number) => void>();
