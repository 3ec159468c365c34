import type { ErrorCode } from "../../src/protocol/errors.js";
import type { BindingName } from "./cases.js";

/** A place where an agent on an official SDK deviates from the specification. Our client must cope. */
export interface Deviation {
  /** The SDK as named by `titleOf`. */
  readonly sdk: string;
  /** Default: all. */
  readonly binding?: BindingName;
  /** The title of the case. */
  readonly name: string;
  /**
   * The error that comes instead of a result or of another error. `undefined`: no error. `"otherwise"`: the case fails;
   * the test fails as soon as the case passes.
   */
  readonly code: ErrorCode | undefined | "otherwise";
  readonly because: string;
  /** Whether the deviation appears only a moment after the previous answer, so that the case is retried. */
  readonly late?: true;
}

const js101 = "JavaScript 1.0.1";
const go231 = "Go 2.3.1";
const go201 = "Go 2.0.1";
const everyGo = ["Go", go231, go201];

const unclassed = "its parts have an error class each, so that what goes wrong is an internal error";
const unclassedCases = [
  "gets a task that is none",
  "cancels a task that is none",
  "subscribes to a task that is none",
  "sends to a task that is none",
  "streams to a task that is none",
  "creates a push configuration for a task that is none",
  "gets a push configuration that is none",
  "cancels a finished task",
  "subscribes to a finished task",
  "sends to a finished task",
  "asks for a page that is none",
  "asks for too large a page",
  "asks for an extended card that there is none of",
];

export const deviations: readonly Deviation[] = [
  ...["JavaScript", js101].map(
    (sdk): Deviation => ({
      sdk,
      name: "sends a message without parts",
      code: undefined,
      because: "it does not look whether a message has parts",
    }),
  ),
  ...unclassedCases.map((name): Deviation => ({ sdk: js101, name, code: "internalError", because: unclassed })),
  {
    sdk: js101,
    name: "lists tasks by context and state, page by page",
    code: "otherwise",
    because: "it lists the tasks of callers with a name alone",
  },
  {
    sdk: js101,
    binding: "HTTP+JSON",
    name: "creates, gets, lists and deletes a push configuration",
    code: "internalError",
    because: "it does not look for the task in the path",
  },
  {
    sdk: "Python",
    binding: "GRPC",
    name: "asks for a version that is none",
    code: "taskNotFound",
    because: "its gRPC end does not read the version",
  },
  {
    sdk: go201,
    binding: "JSONRPC",
    name: "creates a push configuration for a task that is none",
    code: "invalidParams",
    because: "it reads push configurations in the form of a draft",
  },
  ...(["JSONRPC", "HTTP+JSON"] as const).map(
    (binding): Deviation => ({
      sdk: go201,
      binding,
      name: "creates, gets, lists and deletes a push configuration",
      code: "otherwise",
      because: "it reads push configurations in the form of a draft",
    }),
  ),
  ...["sends to a finished task", "sends a message without parts"].map(
    (name): Deviation => ({
      sdk: go201,
      binding: "HTTP+JSON",
      name,
      code: "internalError",
      because: "its error for wrong parameters has no code over HTTP+JSON",
    }),
  ),
  ...everyGo.flatMap(ofEveryGo),
  ...[go231, go201].map(
    (sdk): Deviation => ({
      sdk,
      name: "creates a push configuration for a task that is none",
      code: undefined,
      because: "it does not look whether there is such a task",
    }),
  ),
];

function ofEveryGo(sdk: string): readonly Deviation[] {
  return [
    {
      sdk,
      name: "asks for a version that is none",
      code: "taskNotFound",
      because: "it does not read the version",
    },
    {
      sdk,
      name: "subscribes to a finished task",
      code: "taskNotFound",
      because: "it knows only the tasks that run",
      late: true,
    },
    {
      sdk,
      name: "subscribes to a task that waits for an answer",
      code: "taskNotFound",
      because: "it knows only the tasks that run, and a task that waits is not run",
      late: true,
    },
    {
      sdk,
      name: "cancels a task that waits for an answer",
      code: undefined,
      because: "it cancels none whose last turn it has not put away",
      late: true,
    },
    ...["answers a question and gets the result", "answers a question on a second stream"].map(
      (name): Deviation => ({
        sdk,
        name,
        code: undefined,
        because: "it refuses an answer until it has put away the turn that asked",
        late: true,
      }),
    ),
    {
      sdk,
      name: "sends to a finished task",
      code: "invalidParams",
      because: "it takes the id of a finished task for a wrong parameter",
      // Its execution ends a moment after its answer, and until then it refuses with another error.
      late: true,
    },
    {
      sdk,
      name: "gets a push configuration that is none",
      code: "internalError",
      because: "its error for that has no code",
    },
    {
      sdk,
      name: "asks for a page that is none",
      code: "parseError",
      because: "it says so of a token that it cannot read",
    },
    {
      sdk,
      name: "asks for too large a page",
      code: "invalidRequest",
      because: "it says so of a page size out of range",
    },
  ];
}

/** Open work of ours. The test fails as soon as the case passes, so that the row gets removed. */
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

/** Whether a case is listed as open. */
export function isOpen(rows: readonly Open[], sdk: string, binding: BindingName, name: string): boolean {
  return rows.some((row) => row.sdk === sdk && row.binding === binding && row.name === name);
}
