import type { CallOptions } from "./context.js";
import type { Operations } from "./operations.js";

// The core hands clients to turns and calls none of their methods, so it needs no more than this. The room of clients adds
// the members of a whole client to the interface (`client/base-client.ts`).

/** A client of another agent of the server, with all members of a `Client`. */
export interface TurnClient {
  /** The eleven operations with whole messages. */
  readonly operations: Operations<CallOptions>;
}
