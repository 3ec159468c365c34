import { create } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import type { ServerContext } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import {
  GetTaskRequestSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  TaskState,
  typeNames,
} from "../protocol/model.js";
import type { Operations, StreamItem } from "../protocol/operations.js";
import { endsBlockingSend } from "../protocol/states.js";
import { NameTaken } from "../protocol/task-names.js";
import { callerLeft, type ForwardedOperations } from "./handler.js";
import type { RememberedNames } from "./remembered-names.js";

// A send whose caller names its task, for an upstream agent that may or may not support names. The caller's version
// resolves existing names; here a new task gets one.

export interface NamedSendsOptions {
  readonly upstream: ForwardedOperations;
  readonly names: RememberedNames;
  /** Whether the upstream agent lets callers name tasks, so that names can be passed on. */
  readonly takesNames: () => boolean;
}

type Sends = Pick<Operations<ServerContext>, "sendMessage" | "sendStreamingMessage">;

/** The sends of both kinds of callers: those that name their tasks, and those that use ids. */
export function createNamedSends(options: NamedSendsOptions): Sends {
  const { operations } = options.upstream;
  return {
    async sendMessage(request, context) {
      const { taskName } = context;
      if (taskName === undefined) return operations.sendMessage(request, context);
      const naming = await startNaming(options, request, { context, name: taskName });
      try {
        return await sendNamed(options.upstream, naming, context);
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

/** A send to a named task, or to one that will get the name. */
interface Naming {
  readonly request: SendMessageRequest;
  /** The agent has revealed the task's id. */
  rememberName(id: string | undefined): void;
  /** No id will follow. */
  end(): void;
}

// While one send creates the task of a name, others wait.
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
  const rememberName = (id: string | undefined): void => {
    if (id !== undefined) names.give(principal, name, id);
    end();
  };
  if (!isNew || !takesNames()) return { request, rememberName, end };
  rememberName(name);
  return { request: { ...request, message: { ...message, taskId: name } }, rememberName, end };
}

async function sendNamed(
  upstream: ForwardedOperations,
  naming: Naming,
  context: ServerContext,
): Promise<SendMessageResponse> {
  const { request, rememberName } = naming;
  if (request.message?.taskId === "") return sendNew(upstream, naming, context);
  const response = await upstream.operations.sendMessage(request, context);
  // Some agents give the task another id than the requested one.
  rememberName(readTaskId(response));
  return response;
}

async function* streamNamed(
  options: NamedSendsOptions,
  request: SendMessageRequest,
  call: NamedCall,
): AsyncGenerator<StreamItem> {
  const { request: namedRequest, rememberName, end } = await startNaming(options, request, call);
  yield* options.upstream.stream(namedRequest, call.context, { onTask: rememberName, onEnd: end });
}

// A blocking send gives the task's id only when the task stops, and until then the name could not be resolved. So the
// message is streamed, which also follows the task: some agents write each chunk to their task once per reader, so a
// subscription beside the send would repeat text.
async function sendNew(
  upstream: ForwardedOperations,
  { request, rememberName }: Naming,
  context: ServerContext,
): Promise<SendMessageResponse> {
  const { historyLength, returnImmediately } = request.configuration ?? {};
  if (returnImmediately === true) {
    const response = await upstream.operations.sendMessage(request, context);
    rememberName(readTaskId(response));
    return response;
  }
  let taskId: string | undefined;
  const onTask = (id: string): void => {
    taskId = id;
    rememberName(id);
  };
  for await (const { response } of upstream.stream(request, context, { onTask, onEnd: noop })) {
    const { payload } = response;
    if (payload.case === "message") return { $typeName: typeNames.SendMessageResponse, payload };
    if (payload.case === "artifactUpdate") continue;
    if (endsBlockingSend(payload.value?.status?.state ?? TaskState.UNSPECIFIED)) break;
  }
  if (context.signal.aborted) throw callerLeft();
  if (taskId === undefined)
    throw new A2AError("invalidAgentResponse", "the agent answered a send without the id of its task");
  const task = await upstream.operations.getTask(create(GetTaskRequestSchema, { id: taskId, historyLength }), context);
  return { $typeName: typeNames.SendMessageResponse, payload: { case: "task", value: task } };
}

function readTaskId({ payload }: SendMessageResponse): string | undefined {
  return payload.case === "task" ? payload.value.id : undefined;
}
