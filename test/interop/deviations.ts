import type { ErrorCode } from "../../src/protocol/errors.js";
import type { BindingName } from "./cases.js";
import type { SdkAgent } from "./sdk-agents.js";

/** Where an agent on an official SDK does something else than the specification says. Our client has to cope. */
export interface Deviation {
  readonly sdk: SdkAgent["name"];
  /** Default: all. */
  readonly binding?: BindingName;
  /** Title of the case. */
  readonly name: string;
  /** The error that comes, in place of a result or of another error; `undefined`: none comes. */
  readonly code: ErrorCode | undefined;
  readonly because: string;
  /** It is so a moment after what came before was answered, and is tried until it is. */
  readonly late?: true;
}

export const deviations: readonly Deviation[] = [
  {
    sdk: "JavaScript",
    name: "sends a message without parts",
    code: undefined,
    because: "it does not look whether a message has parts",
  },
  {
    sdk: "Python",
    binding: "grpc",
    name: "asks for a version that is none",
    code: "taskNotFound",
    because: "its gRPC end does not read the version",
  },
  {
    sdk: "Go",
    name: "asks for a version that is none",
    code: "taskNotFound",
    because: "it does not read the version",
  },
  {
    sdk: "Go",
    name: "subscribes to a finished task",
    code: "taskNotFound",
    because: "it knows only the tasks that run",
    late: true,
  },
  {
    sdk: "Go",
    name: "subscribes to a task that waits for an answer",
    code: "taskNotFound",
    because: "it knows only the tasks that run, and a task that waits is not run",
    late: true,
  },
  {
    sdk: "Go",
    name: "cancels a task that waits for an answer",
    code: undefined,
    because: "it cancels none whose last turn it has not put away",
    late: true,
  },
  {
    sdk: "Go",
    name: "sends to a finished task",
    code: "invalidParams",
    because: "it takes the id of a finished task for a wrong parameter",
  },
  {
    sdk: "Go",
    name: "gets a push configuration that is none",
    code: "internalError",
    because: "its error for that has no code",
  },
  {
    sdk: "Go",
    name: "asks for a page that is none",
    code: "parseError",
    because: "it says so of a token that it cannot read",
  },
  {
    sdk: "Go",
    name: "asks for too large a page",
    code: "invalidRequest",
    because: "it says so of a page size out of range",
  },
];

/** What is still to be done on our side: the test fails as soon as it works, and then the row goes. */
export interface Open {
  readonly sdk: string;
  readonly binding: BindingName;
  readonly name: string;
  readonly because: string;
}

/** Cases of the SDKs as clients of our agent. */
export const openForOurAgent: readonly Open[] = [];

/** Cases of our client at agents on the SDKs. */
export const openForOurClient: readonly Open[] = [];

/** Whether a case is among those that are open. */
export function isOpen(rows: readonly Open[], sdk: string, binding: BindingName, name: string): boolean {
  return rows.some((row) => row.sdk === sdk && row.binding === binding && row.name === name);
}
