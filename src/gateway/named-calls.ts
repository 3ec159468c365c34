import { type Message as AnyMessage, create } from "@bufbuild/protobuf";
import { type CalledOperations, withTaskNames } from "../core/named-tasks.js";
import { noop } from "../protocol/async/noop.js";
import type { ServerContext } from "../protocol/context.js";
import {
  GetTaskRequestSchema,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  TaskState,
} from "../protocol/model.js";
import { invoke, type Operation, type OperationName, type Operations, operations } from "../protocol/operations.js";
import { isStop } from "../protocol/states.js";
import type { PassedOperations } from "./handler.js";
import type { TaskNames } from "./task-names.js";

/** Callers who name their tasks, in front of an agent that does so itself, or does not. */
export interface NamedCallsOptions {
  readonly passed: PassedOperations;
  readonly names: TaskNames;
  /** Whether the agent behind lets its callers name tasks, so that names can stay what they are. */
  readonly takesNames: () => boolean;
}

/** The operations for callers of both kinds: those who name their tasks, and those who take ids as they are given. */
export function withNames(options: NamedCallsOptions): Operations<ServerContext> {
  const { passed } = options;
  const calls = operations.map((operation) => {
    const call = (request: AnyMessage, context: ServerContext) => {
      if (!context.callersNameTasks) return invoke(passed.operations, operation, request, context);
      return invoke(translated(options, operation, context), operation, request, context);
    };
    return [operation.name, call as AnyCall] as const;
  });
  return Object.fromEntries(calls) as Record<OperationName, AnyCall>;
}

// What every operation's type has room for: a row of the table is not typed by its operation.
type AnyCall = (request: AnyMessage, context: ServerContext) => Promise<never> & AsyncIterable<never>;

/** The operations for one call of a caller who names tasks. */
function translated(
  { passed, names, takesNames }: NamedCallsOptions,
  { input }: Operation,
  context: ServerContext,
): Operations<ServerContext> {
  const { principal } = context;
  const sends = input.typeName === "lf.a2a.v1.SendMessageRequest";
  let opened = noop;
  // An unknown name may be the id of a task that was made by other callers.
  const isTask = async (id: string): Promise<boolean> =>
    passed.operations.getTask(create(GetTaskRequestSchema, { id, historyLength: 0 }), context).then(
      () => true,
      () => false,
    );
  const learn = (name: string, id: string | undefined): void => {
    if (id !== undefined) names.give(principal, name, id);
    opened();
  };
  const findOrOpen = async (name: string): Promise<string | undefined> => {
    const known = names.find(principal, name);
    if (known !== undefined) return known;
    opened = await names.open(principal, name);
    const id = names.find(principal, name) ?? (takesNames() || (await isTask(name)) ? name : undefined);
    if (id !== undefined) learn(name, id);
    return id;
  };
  const by: CalledOperations = {
    ...passed.operations,
    async sendMessage(request, _, name = "") {
      try {
        if (request.message?.taskId === "") return await sendNew(passed, request, context, (id) => learn(name, id));
        const response = await passed.operations.sendMessage(request, context);
        // Some agents give the task another id than the requested one.
        learn(name, taskIdOf(response));
        return response;
      } finally {
        opened();
      }
    },
    sendStreamingMessage: (request, _, name = "") =>
      passed.stream(request, context, { seen: (id) => learn(name, id), over: () => opened() }),
  };
  const store = {
    taskNamed: async (_: unknown, name: string) => (sends ? findOrOpen(name) : names.find(principal, name)),
    head: async () => undefined,
  };
  const scopeOf = () => ({ agent: "", tenant: principal.tenant ?? "", owner: principal.owner });
  return withTaskNames(by, { store, scopeOf });
}

// A blocking send returns the id of its task when the task stops. Meanwhile it could not be found by its name, so it is
// sent as one that does not wait, and waited for here.
async function sendNew(
  passed: PassedOperations,
  request: SendMessageRequest,
  context: ServerContext,
  learn: (id: string | undefined) => void,
): Promise<SendMessageResponse> {
  const configuration = request.configuration ?? create(SendMessageConfigurationSchema);
  const atOnce = { ...request, configuration: { ...configuration, returnImmediately: true } };
  const response = await passed.operations.sendMessage(atOnce, context);
  learn(taskIdOf(response));
  const { payload } = response;
  if (configuration.returnImmediately || payload.case !== "task") return response;
  if (isStop(payload.value.status?.state ?? TaskState.UNSPECIFIED)) return response;
  const { id } = payload.value;
  await passed.wait(id, context);
  const { historyLength } = configuration;
  const task = await passed.operations.getTask(create(GetTaskRequestSchema, { id, historyLength }), context);
  return { ...response, payload: { case: "task", value: task } };
}

function taskIdOf({ payload }: SendMessageResponse): string | undefined {
  return payload.case === "task" ? payload.value.id : undefined;
}
