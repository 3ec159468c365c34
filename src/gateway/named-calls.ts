import { create } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import type { ServerContext } from "../protocol/context.js";
import {
  GetTaskRequestSchema,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  TaskState,
} from "../protocol/model.js";
import type { Operations, StreamItem } from "../protocol/operations.js";
import { isStop } from "../protocol/states.js";
import { NameTaken } from "../protocol/task-names.js";
import type { PassedOperations } from "./handler.js";
import type { RememberedNames } from "./remembered-names.js";

// A send whose caller has named its task, in front of an agent that lets its callers do so itself, or does not. The version of
// the caller finds the task of a name; here a new task gets one.

export interface NamedSendsOptions {
  readonly passed: PassedOperations;
  readonly names: RememberedNames;
  /** Whether the agent behind lets its callers name tasks, so that names can stay what they are. */
  readonly takesNames: () => boolean;
}

type Sends = Pick<Operations<ServerContext>, "sendMessage" | "sendStreamingMessage">;

/** The sends of callers of both kinds: those who name their tasks, and those who take ids as they are given. */
export function namedSends(options: NamedSendsOptions): Sends {
  const { operations } = options.passed;
  return {
    async sendMessage(request, context) {
      const { taskName } = context;
      if (taskName === undefined) return operations.sendMessage(request, context);
      const naming = await startNaming(options, request, { context, name: taskName });
      try {
        return await sendNamed(options.passed, naming, context);
      } finally {
        naming.end();
      }
    },
    sendStreamingMessage(request, context) {
      const { taskName } = context;
      if (taskName === undefined) return operations.sendStreamingMessage(request, context);
      return streamNamed(options, request, { context, name: taskName });
    },
  };
}

interface NamedCall {
  readonly context: ServerContext;
  readonly name: string;
}

/** A send to a task with a name, or to one that is to get it. */
interface Naming {
  readonly request: SendMessageRequest;
  /** The agent has said which task it is. */
  learn(id: string | undefined): void;
  /** Nothing more will be learned. */
  end(): void;
}

// While one send makes the task of a name, the others wait.
async function startNaming(
  { names, takesNames }: NamedSendsOptions,
  request: SendMessageRequest,
  { context: { principal }, name }: NamedCall,
): Promise<Naming> {
  const { message } = request;
  const isNew = message?.taskId === "";
  const end = isNew ? await names.open(principal, name) : noop;
  if (isNew && names.find(principal, name) !== undefined) {
    end();
    throw new NameTaken();
  }
  const learn = (id: string | undefined): void => {
    if (id !== undefined) names.give(principal, name, id);
    end();
  };
  if (!isNew || !takesNames()) return { request, learn, end };
  learn(name);
  return { request: { ...request, message: { ...message, taskId: name } }, learn, end };
}

async function sendNamed(
  passed: PassedOperations,
  { request, learn }: Naming,
  context: ServerContext,
): Promise<SendMessageResponse> {
  if (request.message?.taskId === "") return sendNew(passed, request, context, learn);
  const response = await passed.operations.sendMessage(request, context);
  // Some agents give the task another id than the requested one.
  learn(taskIdOf(response));
  return response;
}

async function* streamNamed(
  options: NamedSendsOptions,
  request: SendMessageRequest,
  call: NamedCall,
): AsyncGenerator<StreamItem> {
  const { request: named, learn, end } = await startNaming(options, request, call);
  yield* options.passed.stream(named, call.context, { seen: learn, over: end });
}

// A blocking send returns the id of its task when the task stops. Meanwhile it could not be found by its name, so it is
// sent as one that does not wait, and waited for here.
async function sendNew(
  passed: PassedOperations,
  request: SendMessageRequest,
  context: ServerContext,
  learn: Naming["learn"],
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
