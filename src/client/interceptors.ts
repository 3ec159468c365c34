import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { OperationCaller } from "../binding/transport.js";
import { authorizationExtension, readAuthorization } from "../protocol/authorization/request.js";
import { isTask } from "../protocol/content/objects.js";
import { textOf } from "../protocol/content/read.js";
import { composeInterceptors } from "../protocol/intercept.js";
import type { StreamResponse, TaskStatus } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";
import type { AuthorizationPrompt, ClientInterceptor, ClientOptions } from "./options.js";

// The interceptors of a client's calls: those of its caller, and the one that shows requests for an
// authorization. Loaded by the first call of a client that has any.

/** Puts interceptors in front of a caller, and the one that shows requests for an authorization. */
export function intercept(
  caller: OperationCaller,
  { interceptors = [], onAuthRequired }: ClientOptions,
): OperationCaller {
  const authorization = onAuthRequired === undefined ? [] : [authorizationInterceptor(onAuthRequired)];
  const { unary, stream } = composeInterceptors([...authorization, ...interceptors]);
  return {
    unary: (operation, request, context) =>
      unary(operation, { request, context }, (...call) => caller.unary(operation, ...call)),
    stream: (operation, request, context) =>
      stream(operation, { request, context }, (...call) => caller.stream(operation, ...call)),
  };
}

/** A status of a task, wherever a reply has it. */
interface StatusCarrier {
  readonly taskId: string;
  readonly contextId: string;
  readonly status?: TaskStatus | undefined;
}

// The code of the enum would split what a page loads at once.
const authRequired: number = 8;

/** Remembered at most, so that no request is shown twice: a task repeats its status. */
const maxKeys = 1000;

/** Calls `show` for each authorization that a task comes to wait for, and says to agents that it is there. */
function authorizationInterceptor(show: (prompt: AuthorizationPrompt) => void | Promise<void>): ClientInterceptor {
  const shownKeys = new Set<string>();

  async function checkForRequest(carrier: StatusCarrier | undefined): Promise<void> {
    if (carrier?.status === undefined || Number(carrier.status.state) !== authRequired) return;
    const { taskId, contextId, status } = carrier;
    const { message } = status;
    const key = `${taskId} ${message?.messageId || String(status.timestamp?.seconds)}`;
    if (shownKeys.has(key)) return;
    if (shownKeys.size >= maxKeys) shownKeys.clear();
    shownKeys.add(key);
    const { url, userCode, scopes = [] } = readAuthorization(message) ?? {};
    await show({ taskId, contextId, text: textOf(message), url, userCode, scopes });
  }

  async function* checkItems(items: AsyncIterable<StreamItem>): AsyncGenerator<StreamItem, void, undefined> {
    for await (const item of items) {
      await checkForRequest(statusIn(item.response));
      yield item;
    }
  }

  return async (call, next) => {
    const extensions = [...(call.context.extensions ?? []), authorizationExtension];
    const reply = await next({ ...call, context: { ...call.context, extensions } });
    if (Symbol.asyncIterator in reply) return checkItems(reply);
    await checkForRequest(statusIn(reply));
    return reply;
  };
}

type Reply = AnyMessage & Partial<Pick<StreamResponse, "payload">>;

function statusIn(reply: Reply): StatusCarrier | undefined {
  const value = reply.payload?.value ?? reply;
  if (isTask(value)) return { taskId: value.id, contextId: value.contextId, status: value.status };
  return reply.payload?.case === "statusUpdate" ? reply.payload.value : undefined;
}
