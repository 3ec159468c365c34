import type { Attributes } from "@opentelemetry/api";
import { type Binding, bindings, inProcessBinding } from "../protocol/bindings.js";
import { type ErrorCode, errorTable } from "../protocol/errors.js";
import { grpcStatusNames } from "../protocol/grpc-status.js";
import type { Operation } from "../protocol/operations.js";

// Attributes of calls: those of the conventions for RPC, plus the binding and the version of the protocol.

/** Names of remote procedure call systems, by binding. */
const systems: Readonly<Record<string, string>> = {
  ...Object.fromEntries(bindings.map(({ name, rpcSystem }) => [name, rpcSystem])),
  "in-process": "in_process",
};

/** The interface by which a call is made, as far as it is known. */
export interface CallInterface {
  readonly binding: string | undefined;
  readonly version: string | undefined;
}

/** Attributes that every call of an operation over one binding in one version has, in spans and metrics. */
export function callAttributes(
  operation: Operation | undefined,
  { binding: bindingName, version }: CallInterface,
): Attributes {
  // Cards have another name for it than servers.
  const binding = isInProcess(bindingName) ? "in-process" : bindingName;
  return {
    ...(binding === undefined ? {} : { "rpc.system.name": systems[binding] ?? binding }),
    "rpc.method": operation === undefined ? "_OTHER" : formatMethod(operation),
    ...(binding === undefined ? {} : { "a2a.protocol.binding": binding }),
    ...(version === undefined ? {} : { "a2a.protocol.version": version }),
  };
}

/** Whether a client calls its agent without a network. */
export function isInProcess(binding: string | undefined): boolean {
  return binding === inProcessBinding;
}

/** The full name of an operation. It is the same over every binding and in every version. */
export function formatMethod({ descriptor, method }: Operation): string {
  return `${descriptor.parent.typeName}/${method}`;
}

/** The status of a call in the form of its binding, with the kind of error if it failed. */
export function outcomeAttributes(code: "OK" | "CANCELLED" | ErrorCode, binding: string | undefined): Attributes {
  if (code === "OK") return findAdapter(binding) === "grpc" ? { "rpc.response.status_code": "OK" } : {};
  if (code === "CANCELLED") return { "rpc.response.status_code": code };
  return { "rpc.response.status_code": readStatus(code, binding), "error.type": code };
}

function findAdapter(binding: string | undefined): (typeof bindings)[number]["adapter"] | undefined {
  return bindings.find(({ name }) => name === (binding as Binding | undefined))?.adapter;
}

function readStatus(code: ErrorCode, binding: string | undefined): string {
  const { jsonRpc, http, grpc } = errorTable[code];
  const adapter = findAdapter(binding);
  if (adapter === "jsonRpc") return String(jsonRpc);
  return adapter === "httpJson" ? String(http) : (grpcStatusNames[grpc] ?? "UNKNOWN");
}

/** Status codes that mean that a server has failed, and not its caller. */
const serverFaults: ReadonlySet<string | undefined> = new Set([
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
]);

/** Whether a server's span of the call is marked as an error. */
export function isServerFault(code: "OK" | "CANCELLED" | ErrorCode): boolean {
  return code !== "OK" && code !== "CANCELLED" && serverFaults.has(grpcStatusNames[errorTable[code].grpc]);
}
