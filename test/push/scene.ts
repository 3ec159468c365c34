import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { Head, LogRecord, PushRegistration, PushStore, Signals, TaskStore } from "../../src/core/ports.js";
import type { Logger } from "../../src/protocol/logger.js";
import {
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../src/protocol/model.js";
import { isTerminal } from "../../src/protocol/states.js";
import { defaultPushLimits } from "../../src/push/limits.js";
import { createPush, type Push, type PushDeliveryOptions } from "../../src/push/push.js";
import { inProcessSignals } from "../../src/signals/in-process.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { alice, appendTo, newTask } from "../contract/fixtures.js";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.js";

type Config = Partial<Pick<PushRegistration["config"], "token" | "url">> & {
  readonly authentication?: { readonly scheme: string; readonly credentials: string };
};

/** Push notifications over memory stores and a stopped clock, with a log to write by hand. */
export interface Scene {
  readonly push: Push;
  readonly clock: VirtualClock;
  readonly tasks: TaskStore;
  readonly store: PushStore;
  readonly signals: Signals;
  /** The log lines as JSON. */
  readonly logs: string[];
  task(): Promise<LogOf>;
  /** Another process on the same stores, without hints. */
  beside(own: Partial<PushDeliveryOptions>): Push;
  /** Resolves when a timer is due in `ms`. */
  timer(ms: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A task whose log a test writes. */
interface LogOf {
  readonly id: string;
  readonly key: number;
  /** Writes events in one write and publishes a hint unless `hint` is false. */
  write(events: readonly StreamResponse[], how?: { readonly hint?: boolean; readonly snapshot?: Task }): Promise<void>;
  /** In version 1.0 unless `as` names another. */
  register(
    id: string,
    config: Config,
    as?: Partial<Pick<PushRegistration, "version" | "taskName" | "scope">>,
  ): Promise<PushRegistration>;
  delete(id: string): Promise<void>;
  /** Ids of the configurations that are not settled. */
  owed(): Promise<readonly string[]>;
  /** Ids of all configurations. */
  configIds(): Promise<readonly string[]>;
}

export function scene(options: Partial<PushDeliveryOptions> = {}): Scene {
  const clock = createVirtualClock();
  const tasks = options.tasks ?? memoryTaskStore({ clock, finishedLogMs: 1 });
  const store = options.store ?? memoryPushStore();
  const signals = inProcessSignals();
  const logs: string[] = [];
  const limits = { ...defaultPushLimits, pushRetryMs: 700 };
  const logger = recordingLogger(logs);
  const push = createPush({
    allow: "loopback",
    store,
    tasks,
    signals,
    clock,
    logger,
    versions: [v1],
    limits,
    ...options,
  });
  return {
    push,
    clock,
    tasks,
    store,
    signals,
    logs,
    async task() {
      const publish = (taskId: string): void => signals.publish({ kind: "moved", taskId });
      return openLog({ push, tasks, store, publish, holder: options.instance ?? "here" });
    },
    beside: (own) =>
      createPush({
        allow: "loopback",
        store,
        tasks,
        signals: inProcessSignals(),
        clock,
        logger,
        versions: [v1],
        ...own,
      }),
    async timer(ms) {
      while (!clock.pending().includes(clock.now() + ms)) await setImmediate();
    },
    [Symbol.asyncDispose]: () => push.close(),
  };
}

interface LogDeps {
  readonly push: Push;
  readonly tasks: TaskStore;
  readonly store: PushStore;
  readonly publish: (taskId: string) => void;
  readonly holder: string;
}

async function openLog({ push, tasks, store, publish, holder }: LogDeps): Promise<LogOf> {
  let head: Head = await tasks.create(newTask({ records: [{ kind: "event", seq: 1, event: status("SUBMITTED") }] }));
  const { key, id } = head;
  return {
    id,
    key,
    async write(events, { hint = true, snapshot } = {}) {
      const records = events.map((event, index): LogRecord => ({ kind: "event", seq: head.seq + index + 1, event }));
      const state = lastState(events);
      const changes = state === undefined ? {} : { status: { state, time: 1 } };
      const end = state !== undefined && isTerminal(state) ? { end: { inboxPut: 0 } } : {};
      const snapshotPart = snapshot === undefined ? {} : { snapshot: { task: snapshot, bytes: 1 } };
      await tasks.append(appendTo(head, { records, ...changes, ...end, ...snapshotPart }));
      head = { ...head, seq: head.seq + records.length };
      if (hint) publish(id);
    },
    async register(configId, config, as) {
      const configuration = create(TaskPushNotificationConfigSchema, { ...config, id: configId, taskId: id });
      const registration = {
        key,
        taskId: id,
        scope: alice,
        config: configuration,
        cursor: head.seq,
        version: "1.0",
        holder,
        ...as,
      };
      await store.set(registration, 10);
      push.service.added(registration);
      return registration;
    },
    async delete(configId) {
      await store.delete(key, configId);
      push.service.removed(id, configId);
    },
    owed: async () => (await store.list(key)).flatMap(({ config, settled }) => (settled === true ? [] : [config.id])),
    configIds: async () => (await store.list(key)).map(({ config }) => config.id),
  };
}

function lastState(events: readonly StreamResponse[]): TaskState | undefined {
  const states = events.map(({ payload }) =>
    payload.case === "statusUpdate" ? payload.value.status?.state : undefined,
  );
  return states.findLast((state) => state !== undefined);
}

function recordingLogger(logs: string[]): Logger {
  const note = (fields: object, message: string): void => {
    const plain = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? String(value) : value]);
    logs.push(JSON.stringify({ ...Object.fromEntries(plain), message }));
  };
  return { debug: note, info: note, warn: note, error: note };
}

export function status(state: keyof typeof TaskState): StreamResponse {
  const value = { taskId: "t", contextId: "c", status: { state: TaskState[state] } };
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
}

/** `a=text` begins an artifact, `a+text` appends to it, and `!` at the end marks the last chunk. */
export function chunk(label: string): StreamResponse {
  const [, artifactId = "", sign, text = "", last] = /^(\w+)([=+])([^!]*)(!?)$/.exec(label) ?? [];
  const artifact = { artifactId, parts: [{ content: { case: "text" as const, value: text } }] };
  const value = { taskId: "t", contextId: "c", artifact, append: sign === "+", lastChunk: last === "!" };
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

export function snapshotIn(state: keyof typeof TaskState): Task {
  return create(TaskSchema, { id: "t", contextId: "c", status: { state: TaskState[state] } });
}

/** A store with one member replaced. */
export function replaceMember<K extends keyof TaskStore>(store: TaskStore, name: K, member: TaskStore[K]): TaskStore {
  return new Proxy(store, {
    get(target, key) {
      if (key === name) return member;
      const own: unknown = Reflect.get(target, key);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
