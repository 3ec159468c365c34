import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { sizeOfContentIn, sizeOfTask } from "../protocol/check/size.js";
import type { CallAddress, Principal, Scope, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams } from "../protocol/errors.js";
import { checkIndexedScope } from "../protocol/indexed-text.js";
import type { AgentCard, SendMessageRequest } from "../protocol/model.js";
import { type Capability, findOperation, type OperationName, type Operations } from "../protocol/operations.js";
import { cancelTask } from "./ownership/cancel.js";
import type { PushService } from "./ports.js";
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  inlinePush,
  listPushConfigs,
  type PushCall,
} from "./push-config.js";
import { listTasks } from "./read/list-tasks.js";
import { copyIfCurrent, readTask } from "./read/read-task.js";
import { subscribeToTask } from "./read/subscribe.js";
import type { Runtime } from "./runtime.js";
import { createPartCheck, SendCall, type SendPolicy } from "./send/send.js";
import { sendStreamingMessage } from "./send/stream.js";
import { sendMessage } from "./send/unary.js";
import { guardPushStore } from "./store-guard.js";

/** Returns the scope of a request. Throws when the caller may not use its tenant. */
type ScopeOf = (context: ServerContext, request: { readonly tenant: string }) => Scope;

/** Throws for an operation that the agent does not declare. */
type Gate = (name: OperationName) => void;

/** Options that enable, limit and refuse operations. */
export interface OperationOptions {
  /** Default: true. */
  readonly streaming?: boolean | undefined;
  /** Without it push notifications are not supported. */
  readonly push?: PushService | undefined;
  /** The card's input media types. Default: any. */
  readonly inputModes?: readonly string[] | undefined;
  /** Existing tenants. Default: only the empty one. */
  readonly tenants?: readonly string[] | undefined;
  /**
   * Enables the extended card. Returns `undefined` when the caller has none. `version`: the caller's protocol version.
   */
  readonly extendedCard?:
    | ((principal: Principal, caller?: CallAddress, version?: string) => Promise<AgentCard | undefined>)
    | undefined;
}

/** Creates the eleven operations over a runtime, as far as the options enable them. */
export function createOperations(runtime: Runtime, options: OperationOptions): Operations<ServerContext> {
  const { extendedCard, streaming = true } = options;
  const push = options.push === undefined ? undefined : guardPush(options.push, runtime);
  const toScope = createScopes(runtime.agentId, options.tenants);
  const { reads } = runtime;
  const gate = createCapabilityGate({
    streaming,
    pushNotifications: push !== undefined,
    extendedAgentCard: extendedCard !== undefined,
  });
  const operationContext: OperationContext = { runtime, push, toScope, gate };
  return {
    ...sendOperations(operationContext, options.inputModes),
    getTask: async (request, context) => {
      const { id, historyLength } = request;
      const ref = { scope: toScope(context, request), id };
      const current = copyIfCurrent(runtime, ref, { historyLength });
      return (
        current ??
        (await reads(
          ref.scope,
          () => readTask(runtime, ref, { historyLength }),
          ({ task }) => sizeOfTask(task),
        ))
      ).task;
    },
    listTasks: async (request, context) => {
      const scope = toScope(context, request);
      return reads(scope, () => listTasks(runtime, request, scope), sizeOfContentIn);
    },
    cancelTask: async (request, context) => cancelTask(runtime, request, toScope(context, request)),
    subscribeToTask: (request, context) => {
      gate("subscribeToTask");
      return subscribeToTask(runtime, { scope: toScope(context, request), id: request.id }, context);
    },
    ...pushOperations(operationContext),
    getExtendedAgentCard: async (request, context) => {
      gate("getExtendedAgentCard");
      toScope(context, request);
      const card = await extendedCard?.(context.principal, context.caller, context.version);
      if (card !== undefined) return card;
      throw new A2AError("extendedAgentCardNotConfigured", "there is no extended card for this caller");
    },
  };
}

/** Dependencies of the operations. */
interface OperationContext {
  readonly runtime: Runtime;
  readonly push: PushService | undefined;
  readonly toScope: ScopeOf;
  readonly gate: Gate;
}

function sendOperations(
  { runtime, push, toScope, gate }: OperationContext,
  inputModes: readonly string[] | undefined,
): Pick<Operations<ServerContext>, "sendMessage" | "sendStreamingMessage"> {
  const policy: SendPolicy = {
    checkParts: createPartCheck(inputModes),
    inlinePush: async (call, entry) => {
      if (push === undefined) throw noPush();
      return inlinePush(push, call, entry);
    },
  };
  const deps = { runtime: { ...runtime, store: runtime.storeFor("send") }, policy };
  const openSend = (request: SendMessageRequest, context: ServerContext, waits: boolean): SendCall =>
    new SendCall(deps, { request, context, scope: toScope(context, request), waits });
  return {
    sendMessage: (request, context) =>
      sendMessage(() => openSend(request, context, request.configuration?.returnImmediately !== true)),
    sendStreamingMessage: (request, context) => {
      gate("sendStreamingMessage");
      return sendStreamingMessage(openSend(request, context, true));
    },
  };
}

type PushOperation = Extract<OperationName, `${string}PushNotificationConfig${"" | "s"}`>;

function pushOperations({
  runtime,
  push,
  toScope,
  gate,
}: OperationContext): Pick<Operations<ServerContext>, PushOperation> {
  const openPushCall = (name: PushOperation, ...of: Parameters<ScopeOf>): PushCall => {
    gate(name);
    if (push === undefined) throw noPush();
    return { runtime, push, scope: toScope(...of) };
  };
  return {
    createTaskPushNotificationConfig: async (request, context) =>
      createPushConfig(openPushCall("createTaskPushNotificationConfig", context, request), request, context),
    getTaskPushNotificationConfig: async (request, context) =>
      getPushConfig(openPushCall("getTaskPushNotificationConfig", context, request), request),
    listTaskPushNotificationConfigs: async (request, context) =>
      listPushConfigs(openPushCall("listTaskPushNotificationConfigs", context, request), request),
    deleteTaskPushNotificationConfig: async (request, context) => {
      await deletePushConfig(openPushCall("deleteTaskPushNotificationConfig", context, request), request);
      return create(EmptySchema);
    },
  };
}

// A request's tenant is not trusted: it is checked against the existing tenants and the principal.
function createScopes(agent: string, tenants: readonly string[] = []): ScopeOf {
  const existing = new Set(tenants);
  return ({ principal }, { tenant: requested }) => {
    const { owner, tenant = "" } = principal;
    if (requested !== "" && requested !== tenant && (!existing.has(requested) || tenant !== ""))
      throw invalidParams({ field: "tenant", description: "is not a tenant of this agent" });
    const scope = { agent, tenant: requested === "" ? tenant : requested, owner };
    checkIndexedScope(scope);
    return scope;
  };
}

function createCapabilityGate(enabled: Readonly<Record<Capability, boolean>>): Gate {
  return (name) => {
    const { needs, method } = findOperation(name);
    if (needs === undefined || enabled[needs]) return;
    if (needs === "pushNotifications") throw noPush();
    throw new A2AError("unsupportedOperation", `the agent does not declare ${needs}, which ${method} needs`);
  };
}

function noPush(): A2AError {
  return new A2AError("pushNotificationNotSupported", "the agent sends no push notifications");
}

function guardPush(push: PushService, runtime: Runtime): PushService {
  return {
    store: guardPushStore(push.store, runtime),
    check: (config) => push.check(config),
    added: (registration) => push.added(registration),
    removed: (taskId, id) => push.removed(taskId, id),
  };
}
