import type { CallAddress, CallOrigin, Principal, ServerContext } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import type { Operations } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";

/** What is known of a call before a byte of its body is read. */
export interface CallHead {
  readonly binding: CallOrigin;
  /** A header or metadata value by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** What stands behind `?` in a URL, for bindings that have one. */
  readonly query?: string | undefined;
  /** Where the call was sent to. */
  readonly address?: CallAddress | undefined;
}

/** Limits that a binding keeps; bytes, counts and milliseconds. */
export interface BindingLimits {
  /** Content of a request, decoded (a binary message). */
  readonly contentMaxBytes: number;
  /** A JSON body; more than `contentMaxBytes`, since base64 is longer. */
  readonly jsonBodyMaxBytes: number;
  readonly keepAliveMs: number;
}

/** What every binding serves: the one handler, behind admission. */
export interface Service {
  readonly handler: Operations<ServerContext>;
  readonly limits: BindingLimits;
  /** Versions that the agent serves, newest first. */
  readonly versions: readonly string[];
  /** Hold callers to the version that they declare, and refuse those that must declare one and do not. */
  readonly strictVersions: boolean;
  /** What callers call their tasks, in versions where callers name them. */
  readonly taskNames: TaskNames;
  /** Says who is asking, by headers alone. Throws `unauthenticated` or `permissionDenied`. */
  authenticate(head: CallHead): Principal | Promise<Principal>;
  /** The requested extensions that are active for a call; throws `extensionSupportRequired` (spec 3.3.4). */
  extensions(requested: readonly string[]): readonly string[];
  /**
   * Counts a call in. Throws `unavailable` while draining, and `resourceExhausted` or `unavailable` over a limit of
   * bytes in flight or streams. The returned function counts it out again; calling it twice does no harm.
   */
  enter(call: { readonly principal: Principal; readonly bytes: number; readonly streams: boolean }): () => void;
  /** What a caller may see of an error: an `A2AError` as it is, anything else masked, logged and given a correlation id. */
  publicError(error: unknown): A2AError;
}
