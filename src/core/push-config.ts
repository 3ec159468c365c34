import { noop } from "../protocol/async/noop.js";
import { retry } from "../protocol/async/retry.js";
import type { Scope, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams, taskNotFound } from "../protocol/errors.js";
import { checkIndexedId } from "../protocol/indexed-text.js";
import {
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type TaskPushNotificationConfig,
  typeNames,
} from "../protocol/model.js";
import { withoutSecrets } from "../protocol/push-secrets.js";
import { isTerminal } from "../protocol/states.js";
import type { Head, PushRegistration, PushService } from "./ports.js";
import type { Runtime } from "./runtime.js";
import type { RegisterPush, SendCall } from "./send/send.js";
import { isStoreAnswer, storeRetries } from "./store-failure.js";

// The four operations on push configurations, and the inline configuration of a send (spec 3.1.7 to 3.1.10, 4.3). The token
// and the credentials of a webhook are never returned.

/** Who registers: the caller's protocol version and its name for the task. Deliveries use both. */
export interface Registrant {
  readonly version: string;
  readonly taskName: string | undefined;
}

/** The store of the configurations and the scope of their tasks. */
export interface PushCall {
  readonly runtime: Runtime;
  readonly push: PushService;
  readonly scope: Scope;
}

export async function createPushConfig(
  call: PushCall,
  request: TaskPushNotificationConfig,
  registrant: Registrant & Pick<ServerContext, "progress">,
): Promise<TaskPushNotificationConfig> {
  const { runtime, push } = call;
  const head = await readHead(call, request.taskId);
  check(push, request, "");
  const candidate = createRegistration(runtime, head, { config: request, registrant });
  const registration = request.id === "" ? candidate : await inheritCursor(push, candidate);
  registrant.progress.begun = true;
  // An ended task has no new events, but a replacement still owes the events that its predecessor has not delivered.
  const isSettled = isTerminal(head.state) && registration.cursor >= head.seq;
  await keep(runtime, push, isSettled ? { ...registration, holder: "", settled: true } : registration);
  return withoutSecrets(candidate.config);
}

export async function getPushConfig(
  call: PushCall,
  request: GetTaskPushNotificationConfigRequest,
): Promise<TaskPushNotificationConfig> {
  const { push } = call;
  const head = await readHead(call, request.taskId);
  const registration = await push.store.get(head.key, request.id);
  if (registration === undefined) {
    throw new A2AError("taskNotFound", "no such push configuration", {
      metadata: { taskId: request.taskId, id: request.id },
    });
  }
  return withoutSecrets(registration.config);
}

export async function listPushConfigs(
  call: PushCall,
  request: ListTaskPushNotificationConfigsRequest,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const { push } = call;
  const head = await readHead(call, request.taskId);
  const all = await push.store.list(head.key);
  const from =
    request.pageToken === "" ? 0 : 1 + all.findIndex(({ config }) => toPageToken(config) === request.pageToken);
  if (from === 0 && request.pageToken !== "") {
    throw invalidParams({ field: "pageToken", description: "was not issued by this agent" });
  }
  const to = request.pageSize === 0 ? all.length : from + request.pageSize;
  const last = all[to - 1];
  return {
    $typeName: typeNames.ListTaskPushNotificationConfigsResponse,
    configs: all.slice(from, to).map(({ config }) => withoutSecrets(config)),
    nextPageToken: to < all.length && last !== undefined ? toPageToken(last.config) : "",
  };
}

export async function deletePushConfig(
  call: PushCall,
  request: DeleteTaskPushNotificationConfigRequest,
): Promise<void> {
  const { push } = call;
  const head = await readHead(call, request.taskId);
  await push.store.delete(head.key, request.id);
  push.removed(head.id, request.id);
}

/** Checks the configuration of a send and returns how to register it once the task has a key. */
export async function inlinePush(push: PushService, call: SendCall, entry: string): Promise<RegisterPush> {
  const { runtime, request, context, scope } = call;
  const inline = request.configuration?.taskPushNotificationConfig;
  if (inline === undefined) return Object.assign(() => {}, { completion: () => undefined });
  check(push, inline, "configuration.taskPushNotificationConfig.");
  const config = { ...inline, id: inline.id || entry };
  const taskId = request.message?.taskId ?? "";
  if (taskId !== "") {
    const { key } = await readHead({ runtime, push, scope }, taskId);
    const configs = await push.store.list(key);
    const { pushConfigsPerTask } = runtime.limits;
    const isFull = configs.length >= pushConfigsPerTask && !configs.some(({ config: { id } }) => id === config.id);
    if (isFull) throw tooManyConfigs(pushConfigsPerTask);
  }
  let completion: Promise<void> | undefined;
  const store = async ({ key, id, seq, again }: Parameters<RegisterPush>[0]): Promise<void> => {
    const registration = createRegistration(runtime, { key, id, scope, seq }, { config, registrant: context });
    try {
      await retry(async () => {
        if (again === true && (await push.store.get(key, config.id)) !== undefined) return;
        await keep(runtime, push, await inheritCursor(push, registration));
      }, storeRetries(runtime));
    } catch (error) {
      runtime.logger.error({ taskId: id, err: error }, "an inline push configuration could not be stored");
      // While the store does not answer, the caller gets an error and may retry.
      if (!isStoreAnswer(error)) throw error;
    }
  };
  const register = (task: Parameters<RegisterPush>[0]): void => {
    completion = store(task);
    // Its caller may be gone.
    completion.catch(noop);
  };
  return Object.assign(register, { completion: () => completion });
}

async function readHead({ runtime, scope }: PushCall, taskId: string): Promise<Head> {
  const head = await runtime.store.head(scope, taskId);
  if (head === undefined) throw taskNotFound(taskId);
  return head;
}

function check(push: PushService, config: TaskPushNotificationConfig, path: string): void {
  const violations = push.check(config).map(({ field, description }) => ({ field: path + field, description }));
  if (violations.length > 0) throw invalidParams(...violations);
  checkIndexedId(`${path}id`, config.id);
}

function createRegistration(
  runtime: Runtime,
  { key, id, scope, seq }: Pick<Head, "key" | "id" | "scope" | "seq">,
  { config, registrant }: { readonly config: TaskPushNotificationConfig; readonly registrant: Registrant },
): PushRegistration {
  const { version, taskName } = registrant;
  const own = { ...config, id: config.id === "" ? runtime.newId() : config.id, taskId: id };
  const registration = { key, taskId: id, scope, config: own, cursor: seq, version, holder: runtime.instance };
  return taskName === undefined || taskName === id ? registration : { ...registration, taskName };
}

async function keep(runtime: Runtime, push: PushService, registration: PushRegistration): Promise<void> {
  const { pushConfigsPerTask } = runtime.limits;
  if ((await push.store.set(registration, pushConfigsPerTask)) === "full") throw tooManyConfigs(pushConfigsPerTask);
  if (registration.settled !== true) push.added(registration);
}

// A replacement owes what its predecessor still owed, even if another process delivers it.
async function inheritCursor({ store }: PushService, registration: PushRegistration): Promise<PushRegistration> {
  const before = await store.get(registration.key, registration.config.id);
  return before === undefined
    ? registration
    : { ...registration, cursor: Math.min(registration.cursor, before.cursor) };
}

function tooManyConfigs(limit: number): A2AError {
  return invalidParams({
    field: "id",
    description: `is over the limit of ${limit} configurations of a task (pushConfigsPerTask)`,
  });
}

function toPageToken({ id }: TaskPushNotificationConfig): string {
  return encodeURIComponent(id);
}
