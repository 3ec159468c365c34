import type { ErrorCode } from "../../src/protocol/errors.js";
import type { BindingName } from "./cases.js";

interface Row {
  /** The SDK as named in `old-js-and-go.ts`. */
  readonly sdk: string;
  /** Default: all. */
  readonly binding?: BindingName;
  readonly name: string;
  readonly because: string;
}

/** A case that an older SDK's client cannot pass. The test fails as soon as it can. */
export type ClientDeviation = Row;

/** A case in which an agent on an older SDK deviates. Our client must cope. */
export interface AgentDeviation extends Row {
  /**
   * The error that comes instead, `undefined` for none. `"otherwise"`: the case fails; the test fails as soon as it
   * passes.
   */
  readonly code: ErrorCode | undefined | "otherwise";
}

const js3 = "@a2a-js/sdk 0.3.14";
const js2 = "@a2a-js/sdk 0.2.5";
const js1 = "a2a-js 0.2.0";
const trpc2 = "trpc.group/trpc-go/trpc-a2a-go v0.2.5";
const go3 = "github.com/a2aproject/a2a-go v0.3.15";

const rawBytes =
  "it reads the bytes of a file as they are, where the others of its version read base64 in them (`fileBytes`)";
const byStatus = "over gRPC it goes by the status alone, which stands for another error as well";
const noName = "it asks for no configuration without its name";

export const clientDeviations: readonly ClientDeviation[] = [
  { sdk: js3, binding: "HTTP+JSON", name: "task", because: rawBytes },
  { sdk: js3, binding: "GRPC", name: "task", because: rawBytes },
  { sdk: js3, binding: "HTTP+JSON", name: "push-unnamed", because: noName },
  { sdk: js3, binding: "GRPC", name: "error-content-type", because: byStatus },
  { sdk: go3, binding: "GRPC", name: "error-content-type", because: byStatus },
  { sdk: go3, binding: "GRPC", name: "error-push", because: byStatus },
  { sdk: go3, binding: "GRPC", name: "error-extended-card", because: byStatus },
];

const laxParts = "it does not look whether a message has parts";
const laxPush = "it does not look whether there is such a task";
const noConfig = "its error for that has no code";
const restarts = "it has another error for that";
const onlyRunning = "it knows only the tasks that run";
const brokenStreamError = "it fails to write an error that comes before the first event";

export const agentDeviations: readonly AgentDeviation[] = [
  ...[js3, js2].flatMap((sdk): AgentDeviation[] => [
    { sdk, name: "sends a message without parts", code: undefined, because: laxParts },
    { sdk, name: "gets a push configuration that is none", code: "internalError", because: noConfig },
  ]),
  { sdk: js2, name: "sends to a finished task", code: "invalidRequest", because: restarts },
  { sdk: js2, name: "cancels a task that runs", code: "otherwise", because: "it answers before the task is canceled" },
  {
    sdk: js2,
    name: "creates, gets, lists and deletes a push configuration",
    code: "unsupportedOperation",
    because: "its version cannot delete one",
  },
  { sdk: js2, name: "is given the extended card", code: "otherwise", because: "it serves none" },
  { sdk: js2, name: "is called back by the agent, in its version", code: "otherwise", because: "it calls nobody back" },
  { sdk: js3, binding: "JSONRPC", name: "sends to a finished task", code: "invalidRequest", because: restarts },
  { sdk: js3, binding: "HTTP+JSON", name: "sends to a finished task", code: "invalidRequest", because: restarts },
  { sdk: js3, binding: "GRPC", name: "sends to a finished task", code: "invalidParams", because: restarts },
  {
    sdk: js3,
    binding: "GRPC",
    name: "gets files and data back unchanged",
    code: "otherwise",
    because: "it writes 0 for null over gRPC",
  },
  ...["subscribes to a task that is none", "streams to a task that is none"].map(
    (name): AgentDeviation => ({
      sdk: js3,
      binding: "HTTP+JSON",
      name,
      code: "internalError",
      because: brokenStreamError,
    }),
  ),
  {
    sdk: js1,
    name: "creates, gets and lists a push configuration",
    code: "methodNotFound",
    because: "it knows push by the names of a later version only, and refuses it",
  },
  ...ofTrpc2(),
  { sdk: go3, name: "sends to a finished task", code: "invalidParams", because: restarts },
  { sdk: go3, name: "creates a push configuration for a task that is none", code: undefined, because: laxPush },
  { sdk: go3, name: "gets a push configuration that is none", code: "internalError", because: noConfig },
  { sdk: go3, name: "subscribes to a finished task and is given it", code: "taskNotFound", because: onlyRunning },
  {
    sdk: go3,
    name: "cancels a task that waits for an answer",
    code: undefined,
    because: "it cancels none whose last turn it has not put away",
  },
];

function ofTrpc2(): readonly AgentDeviation[] {
  const row = (name: string, code: AgentDeviation["code"], because: string) => ({ sdk: trpc2, name, code, because });
  const noHistory = "it keeps what callers say and not what it answers, and shows it on demand alone";
  const forgets = "it forgets a task that is canceled";
  const wraps = "it makes an internal error of every error of its agent";
  return [
    row("is answered by a finished task with its artifact", "otherwise", noHistory),
    row("gets a task, with as much history as it wants", "otherwise", noHistory),
    row("cancels a task that runs", "taskNotFound", forgets),
    row("cancels a finished task", undefined, "it cancels whatever there is, and forgets it"),
    row("subscribes to a task that runs and follows it to its end", "taskNotFound", forgets),
    row(
      "creates, gets, lists and deletes a push configuration",
      "unsupportedOperation",
      "its version cannot delete one",
    ),
    row("creates a push configuration for a task that is none", undefined, laxPush),
    row("is called back by the agent, in its version", "otherwise", "it calls nobody back"),
    row("sends to a task that is none", "internalError", wraps),
    row("streams to a task that is none", "internalError", wraps),
    row("sends to a finished task", "internalError", wraps),
    row("sends a message without parts", undefined, laxParts),
    row("is given the extended card", "otherwise", "it serves it in the way of the next version"),
  ];
}

export function clientDeviation(sdk: string, binding: BindingName, name: string): ClientDeviation | undefined {
  return rowOf(clientDeviations, sdk, binding, name);
}

export function agentDeviation(sdk: string, binding: BindingName, name: string): AgentDeviation | undefined {
  return rowOf(agentDeviations, sdk, binding, name);
}

function rowOf<R extends Row>(rows: readonly R[], sdk: string, binding: BindingName, name: string): R | undefined {
  return rows.find((row) => row.sdk === sdk && row.name === name && (row.binding ?? binding) === binding);
}
