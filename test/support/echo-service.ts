import { create } from "@bufbuild/protobuf";
import type { AdmittedCall, Service } from "../../src/binding/service.js";
import { noop } from "../../src/protocol/async/noop.js";
import { runSteps } from "../../src/protocol/async/run-steps.js";
import type { ServerContext } from "../../src/protocol/context.js";
import { A2AError } from "../../src/protocol/errors.js";
import { MessageSchema, Role, type SendMessageRequest, TaskState } from "../../src/protocol/model.js";
import { type Operations, operations, type ReplyOf, type StreamItem } from "../../src/protocol/operations.js";

type Handler = Operations<ServerContext>;

/** A request handler with a few operations; every other operation is refused. */
function handlerOf(methods: Partial<Handler>): Handler {
  const refusals = operations.map(({ name }) => [
    name,
    () => {
      throw new A2AError("unsupportedOperation", `${name} is not served`);
    },
  ]);
  return { ...Object.fromEntries(refusals), ...methods };
}

/** The answer of an agent that echoes its input. */
export function echo(request: SendMessageRequest): ReplyOf<"sendMessage"> {
  const parts = request.message?.parts ?? [];
  return {
    $typeName: "lf.a2a.v1.SendMessageResponse",
    payload: { case: "message", value: create(MessageSchema, { messageId: "reply", role: Role.AGENT, parts }) },
  };
}

/** A status event with a distinguishable state and number. */
export function statusItem(number: number, state = TaskState.WORKING): StreamItem {
  return {
    response: {
      $typeName: "lf.a2a.v1.StreamResponse",
      payload: {
        case: "statusUpdate",
        value: {
          $typeName: "lf.a2a.v1.TaskStatusUpdateEvent",
          taskId: "t",
          contextId: `c${number}`,
          status: { $typeName: "lf.a2a.v1.TaskStatus", state },
        },
      },
    },
    id: String(number),
  };
}

/** A place for a call that books nothing. */
export function inPlace(changes: Partial<AdmittedCall> = {}): AdmittedCall {
  const { hold = noop } = changes;
  return { receive: hold, hold, release: noop, leave: noop, work: runSteps, ...changes };
}

/** A service over a handler, without authentication by default. */
export function serviceOf(handler: Partial<Handler>, changes: Partial<Service> = {}): Service {
  return {
    handler: handlerOf(handler),
    limits: {
      contentMaxBytes: 4 * 1024 * 1024,
      jsonBodyMaxBytes: 6 * 1024 * 1024,
      jsonMaxValues: 250_000,
      keepAliveMs: 15_000,
    },
    versions: ["1.0"],
    strictVersions: false,
    taskNames: { find: async () => undefined },
    authenticate: () => ({ principal: { owner: "somebody" } }),
    extensions: (uris) => uris.filter((uri) => uri.startsWith("urn:known")),
    enter: () => inPlace(),
    publicError: (error) => (error instanceof A2AError ? error : new A2AError("internalError", "internal error")),
    ...changes,
  };
}
