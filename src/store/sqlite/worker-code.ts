/**
 * The code of `worker.ts` and all its imports, as one CommonJS script, for bundles, which have no file of the thread.
 * The build fills it in. Empty in a checkout.
 */
export const workerCode: string = "";
