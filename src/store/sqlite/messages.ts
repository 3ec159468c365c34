import { callMethod } from "../../core/ports.js";
import { A2AError, type ErrorCode } from "../../protocol/errors.js";
import type { MigrationProgress } from "../sql/migration-report.js";
import type { Backend } from "../sql/rows.js";
import { StoreError, type StoreFailure, storeErrorFrom } from "../sql/store-error.js";
import type { PackedWrites } from "./packed.js";

// Messages between the main thread and the thread of the database: requests, replies, and errors on their way back.

export type ThreadRequest =
  /** Answered with the path of the file; empty for a database in memory. */
  | { readonly kind: "open" }
  | { readonly kind: "call"; readonly call: BackendRequest; readonly as?: RequestRole | undefined }
  /** Writes committed together, answered with a `GroupAnswer`. */
  | ({ readonly kind: "group" } & PackedWrites)
  /** Moves the contents of the write-ahead log to the file. */
  | { readonly kind: "checkpoint" }
  /** Closes the database; the thread ends after the answer. */
  | { readonly kind: "close" };

/**
 * The kind of a call that is not a read. `heartbeat`: a write that is answered before all waiting requests; the file is
 * checked meanwhile.
 */
export type RequestRole = "write" | "heartbeat";

export interface ThreadMessage {
  readonly id: number;
  /** The time by the store's clock; `undefined`: by the machine's. */
  readonly now: number | undefined;
  readonly request: ThreadRequest;
}

export type ThreadReply =
  /** Progress of a request under way. */
  | { readonly id: number; readonly progress: MigrationProgress; readonly fault?: undefined }
  | { readonly id: number; readonly value: unknown; readonly fault?: undefined; readonly progress?: undefined }
  | { readonly id: number; readonly fault: Fault; readonly progress?: undefined };

/** One value per write. A write that failed alone has a fault instead. */
export interface GroupAnswer {
  readonly values: readonly unknown[];
  readonly faults: readonly { readonly index: number; readonly fault: Fault }[];
}

/** An error as sent to the other thread: cloning loses its class and members. */
export type Fault =
  | { readonly kind: "a2a"; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: "store"; readonly failure: StoreFailure; readonly message: string; readonly cause: unknown };

export function faultFrom(cause: unknown): Fault {
  const error = storeErrorFrom(cause);
  if (error instanceof A2AError) return { kind: "a2a", code: error.code, message: error.message };
  return { kind: "store", failure: error.failure, message: error.message, cause: plainCause(error.cause) };
}

export function errorFromFault(fault: Fault): Error {
  if (fault.kind === "a2a") return new A2AError(fault.code, fault.message);
  return new StoreError(fault.failure, fault.message, { cause: fault.cause });
}

/** The members of a driver's error that a log line needs: cloning the error would lose them. */
function plainCause(cause: unknown): unknown {
  if (!(cause instanceof Error)) return undefined;
  const { message, stack } = cause;
  const code = "code" in cause ? cause.code : undefined;
  const errcode = "errcode" in cause ? cause.errcode : undefined;
  return { message, code, errcode, stack };
}

/** A backend method to be called in another thread. */
export interface BackendRequest {
  readonly port: "tasks" | "push";
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Calls a method by its name. */
export function runRequest({ port, method, args }: BackendRequest, backend: Backend): Promise<unknown> {
  return callMethod(port === "push" ? backend.push : backend, method, args);
}
