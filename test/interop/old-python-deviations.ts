import type { ErrorCode } from "../../src/protocol/errors.js";
import type { BindingName } from "./cases.js";
import type { OldPythonName } from "./old-python.js";

// Old releases that cannot run a case or deviate from their version. Each row is a test that fails as soon as the row
// is no longer true.

/** A case at a release. */
export interface Place {
  readonly release: OldPythonName | readonly OldPythonName[];
  /** Default: all. */
  readonly binding?: BindingName | readonly BindingName[];
  /** The name of the case. */
  readonly name: string;
  readonly because: string;
}

const binary = ["HTTP+JSON", "GRPC"] as const;
const noResubscribe = "it has no call to come back to a task";
const fastaFiles = "it calls the bytes of a file its data and the uri its url, and knows files by nothing else";
const noConfigId = "its push configurations have no id";

/** Cases that a client on an old release fails at our agent. */
export const clientDeviations: readonly Place[] = [
  ...["resubscribe", "resubscribe-finished", "error-resubscribe-missing"].map(
    (name): Place => ({ release: ["a2a-sdk 0.2", "a2a-sdk 0.2.4"], name, because: noResubscribe }),
  ),
  ...["file-bytes", "file-uri", "artifacts"].map((name): Place => ({ release: "FastA2A", name, because: fastaFiles })),
  {
    release: "FastA2A",
    name: "error-content-type-agent",
    because: "a task that its caller has named is there before the agent has said anything, so it fails",
  },
  {
    release: "a2a-sdk 0.3",
    binding: binary,
    name: "timestamp",
    because: "it leaves the time of a status out when it reads the messages of protobuf",
  },
  {
    release: "a2a-sdk 0.3",
    binding: binary,
    name: "get-no-history",
    because: "in the messages of protobuf no history cannot be told from no wish",
  },
  { release: "a2a-sdk 0.2.4", name: "push-config", because: noConfigId },
  { release: "a2a-sdk 0.2.4", name: "push-config-unnamed", because: noConfigId },
];

/** A case of our client with another outcome at an agent on an old release. */
export interface AgentDeviation extends Place {
  /**
   * `"result"`: none of the errors that the case expects. `"other"`: not what the case expects. `"break"`: the
   * connection breaks.
   */
  readonly comes: ErrorCode | "result" | "other" | "break";
}

const sdks = ["a2a-sdk 0.3", "a2a-sdk 0.2"] as const;

const hyphens = "over gRPC it reads the id of a task up to its first hyphen";
const fewStates = "its gRPC knows six states";

/** The release's gRPC, an early form of 0.3's. */
const grpcOf02: readonly AgentDeviation[] = [
  ...[
    "leaves a stream, and the task goes on without it",
    "gets a task, with as much history as it wants",
    "cancels a task that waits for an answer",
    "waits for a task that has ended",
    "waits for a task that waits for an answer",
    "cancels a finished task",
    "subscribes to a finished task",
    "cancels a task that runs",
    "subscribes to a task that runs and follows it to its end",
    "creates a push configuration and gets it",
    "lists push configurations",
    "deletes a push configuration",
    "gets a push configuration that is none",
  ].map(
    (name): AgentDeviation => ({
      release: "a2a-sdk 0.2",
      binding: "GRPC",
      name,
      comes: "taskNotFound",
      because: hyphens,
    }),
  ),
  ...[
    "is told on a stream that it has to log in",
    "is told that it has to log in",
    "is told that a task was rejected",
  ].map(
    (name): AgentDeviation => ({ release: "a2a-sdk 0.2", binding: "GRPC", name, comes: "other", because: fewStates }),
  ),
  {
    release: "a2a-sdk 0.2",
    binding: "GRPC",
    name: "creates a push configuration for a task that is none",
    comes: "internalError",
    because: "it fails to write its error for that",
  },
  {
    release: "a2a-sdk 0.2",
    binding: "GRPC",
    name: "gets files, data and metadata back unchanged",
    comes: "other",
    because: "its gRPC loses the media types of files",
  },
  {
    release: "a2a-sdk 0.2",
    binding: "GRPC",
    name: "is given the extended card",
    comes: "other",
    because: "it gives the public card to everyone",
  },
];

export const agentDeviations: readonly AgentDeviation[] = [
  ...grpcOf02,
  {
    release: sdks,
    binding: ["JSONRPC", "GRPC"],
    name: "subscribes to a task that waits for an answer",
    comes: "taskNotFound",
    because: "it knows only the tasks that run, and a task that waits is not run",
  },
  ...[
    "subscribes to a task that waits for an answer",
    "subscribes to a task that is none",
    "streams to a task that is none",
    "subscribes to a finished task",
  ].map(
    (name): AgentDeviation => ({
      release: "a2a-sdk 0.3",
      binding: "HTTP+JSON",
      name,
      comes: "break",
      because: "it breaks a stream off that fails, at its beginning too",
    }),
  ),
  {
    release: sdks,
    binding: ["JSONRPC", "GRPC"],
    name: "subscribes to a finished task",
    comes: "invalidParams",
    because: "it takes the id of a finished task for a wrong parameter",
  },
  {
    release: "a2a-sdk 0.3",
    binding: "HTTP+JSON",
    name: "lists push configurations",
    comes: "internalError",
    because: "its handler for that raises",
  },
  {
    release: "a2a-sdk 0.3",
    binding: "HTTP+JSON",
    name: "deletes a push configuration",
    comes: "methodNotAllowed",
    because: "it has no such route",
  },
  ...["lists push configurations", "deletes a push configuration"].map(
    (name): AgentDeviation => ({
      release: "a2a-sdk 0.3",
      binding: "GRPC",
      name,
      comes: "pushNotificationNotSupported",
      because: "it has no such procedure, and says so by an exception",
    }),
  ),
  {
    release: "a2a-sdk 0.3",
    binding: "GRPC",
    name: "is given the extended card",
    comes: "other",
    because: "it gives the public card to everyone",
  },
  {
    release: sdks,
    name: "sends to a finished task",
    comes: "invalidParams",
    because: "it takes the id of a finished task for a wrong parameter",
  },
  {
    release: sdks,
    name: "sends a message without parts",
    comes: "result",
    because: "it does not look whether a message has parts",
  },
  {
    release: sdks,
    name: "asks for a version that is none",
    comes: "taskNotFound",
    because: "it does not read the version",
  },
  {
    release: sdks,
    name: "gets a push configuration that is none",
    comes: "internalError",
    because: "it has no error for that",
  },
  { release: "FastA2A", name: "gets the bytes of a file back", comes: "internalError", because: fastaFiles },
  {
    release: "FastA2A",
    name: "creates a push configuration, which the card does not offer",
    comes: "internalError",
    because: "it answers a method that it does not serve with an HTTP error and no JSON",
  },
  {
    release: "a2a-sdk 0.2",
    name: "cancels a finished task",
    comes: "result",
    because: "it cancels again what has been canceled or has ended",
  },
  {
    release: "a2a-sdk 0.2",
    name: "is answered before a task has ended, when it does not want to wait",
    comes: "deadlineExceeded",
    because: "it always waits",
  },
];

/** Returns the row for a case, if any. */
export function deviationOf<D extends Place>(
  rows: readonly D[],
  { release, binding, name }: { readonly release: OldPythonName; readonly binding: BindingName; readonly name: string },
): D | undefined {
  return rows.find(
    (row) =>
      row.name === name &&
      [row.release].flat().includes(release) &&
      (row.binding === undefined || [row.binding].flat().includes(binding)),
  );
}
