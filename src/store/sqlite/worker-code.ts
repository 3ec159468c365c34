/**
 * The code of `worker.ts` with all that it imports, as one CommonJS script. The build fills it in, for bundles: they have no
 * file of the thread. Empty in a checkout.
 */
export const workerCode: string = "";
