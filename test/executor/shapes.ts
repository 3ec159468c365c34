import type { Agent } from "trivium";
import { type AgentExecutor, type AgentExecutorV03, fromExecutor } from "trivium/a2a-js";

// What executors of both generations publish and get, by hand: the package suite uses the classes of the SDK itself.

type StateWord = "submitted" | "working" | "input-required" | "auth-required" | "completed" | "canceled" | "failed";

/** What a test reads of a request context, whatever its generation. */
export interface SeenRequest {
  readonly taskId: string;
  readonly contextId: string;
  readonly text: string;
  readonly role: unknown;
  readonly state: string | undefined;
  readonly history: readonly string[];
  readonly artifacts: readonly string[];
  readonly references: readonly string[] | undefined;
  readonly raw: Record<string, unknown>;
}

/** An execution as a test writes it: each method publishes an event. */
export interface Execution extends SeenRequest {
  task(state: StateWord, more?: { readonly artifact?: string; readonly remark?: string; readonly text?: string }): void;
  status(state: StateWord, text?: string, final?: boolean): void;
  artifact(
    text: string,
    options?: { readonly append?: boolean; readonly lastChunk?: boolean; readonly id?: string },
  ): void;
  message(text: string): void;
  /** Publishes anything. */
  publish(event: object): void;
  finished(): void;
}

export interface TestExecutor {
  execute(run: Execution): Promise<void> | void;
  cancelTask?(taskId: string, run: Execution): Promise<void> | void;
}

interface Bus {
  publish(event: object): void;
  finished(): void;
}

/** A generation of the SDK. */
export interface Shape {
  readonly sdk: "1" | "0.3";
  host(executor: TestExecutor): Agent;
}

const numbers = {
  ...{ submitted: 1, working: 2, completed: 3, failed: 4, canceled: 5, "input-required": 6, "auth-required": 8 },
} as const;
const words = new Map<unknown, string>(Object.entries(numbers).map(([word, number]) => [number, word]));

type Any = Record<string, unknown>;
const list = (value: unknown): readonly Any[] => (Array.isArray(value) ? value : []);
const textOfParts = (parts: unknown): string =>
  list(parts)
    .map(({ content, text }) => (text ?? (content as { value?: unknown } | undefined)?.value ?? "") as string)
    .join("");

function describeContext(context: Any): SeenRequest {
  const { userMessage, task, referenceTasks } = context as Record<string, Any | undefined>;
  const state = (task?.["status"] as Any | undefined)?.["state"];
  return {
    taskId: String(context["taskId"]),
    contextId: String(context["contextId"]),
    text: textOfParts(userMessage?.["parts"]),
    role: userMessage?.["role"],
    state: words.get(state) ?? (state as string | undefined),
    history: list(task?.["history"]).map(({ parts }) => textOfParts(parts)),
    artifacts: list(task?.["artifacts"]).map(({ parts }) => textOfParts(parts)),
    references: referenceTasks === undefined ? undefined : list(referenceTasks).map(({ id }) => String(id)),
    raw: context,
  };
}

// 1.x: wrapped events, `$case`, numbers, and empty strings.

const messageV1 = (text: string, ids: Any): Any => ({
  messageId: crypto.randomUUID(),
  role: 2,
  parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
  ...{ metadata: undefined, extensions: [], referenceTaskIds: [], taskId: "", contextId: "", ...ids },
});
const artifactV1 = (artifactId: string, text: string): Any => ({
  artifactId,
  name: "Result",
  description: "",
  parts: messageV1(text, {})["parts"],
  metadata: undefined,
  extensions: [],
});

function executionV1(context: Any, bus: Bus): Execution {
  const request = describeContext(context);
  const { taskId, contextId } = request;
  const ids = { taskId, contextId };
  const status = (state: StateWord, text?: string): Any => ({
    state: numbers[state],
    message: text === undefined ? undefined : messageV1(text, ids),
    timestamp: new Date().toISOString(),
  });
  return {
    ...request,
    task(state, { artifact, remark, text } = {}) {
      const history = [context["userMessage"], ...(remark === undefined ? [] : [messageV1(remark, ids)])];
      const artifacts = artifact === undefined ? [] : [artifactV1("result", artifact)];
      const data = { id: taskId, contextId, status: status(state, text), artifacts, history, metadata: undefined };
      bus.publish({ kind: "task", data });
    },
    status: (state, text) =>
      bus.publish({ kind: "statusUpdate", data: { ...ids, status: status(state, text), metadata: undefined } }),
    artifact(text, { append = false, lastChunk = false, id = "result" } = {}) {
      const data = { ...ids, artifact: artifactV1(id, text), append, lastChunk, metadata: undefined };
      bus.publish({ kind: "artifactUpdate", data });
    },
    message: (text) => bus.publish({ kind: "message", data: messageV1(text, { contextId }) }),
    publish: (event) => bus.publish(event),
    finished: () => bus.finished(),
  };
}

// 0.3: the JSON of the protocol.

const messageV03 = (text: string, ids: Any): Any => ({
  kind: "message",
  messageId: crypto.randomUUID(),
  role: "agent",
  parts: [{ kind: "text", text }],
  ...ids,
});
const artifactV03 = (artifactId: string, text: string): Any => ({
  artifactId,
  name: "Result",
  parts: [{ kind: "text", text }],
});

function executionV03(context: Any, bus: Bus): Execution {
  const request = describeContext(context);
  const { taskId, contextId } = request;
  const ids = { taskId, contextId };
  const status = (state: StateWord, text?: string): Any => ({
    state,
    ...(text === undefined ? {} : { message: messageV03(text, ids) }),
    timestamp: new Date().toISOString(),
  });
  return {
    ...request,
    task(state, { artifact, remark, text } = {}) {
      const history = [context["userMessage"], ...(remark === undefined ? [] : [messageV03(remark, ids)])];
      const artifacts = artifact === undefined ? undefined : [artifactV03("result", artifact)];
      bus.publish({ kind: "task", id: taskId, contextId, status: status(state, text), artifacts, history });
    },
    status: (state, text, final = ["completed", "canceled", "failed", "input-required"].includes(state)) =>
      bus.publish({ kind: "status-update", ...ids, status: status(state, text), final }),
    artifact: (text, { append = false, lastChunk = false, id = "result" } = {}) =>
      bus.publish({ kind: "artifact-update", ...ids, artifact: artifactV03(id, text), append, lastChunk }),
    message: (text) => bus.publish(messageV03(text, { contextId })),
    publish: (event) => bus.publish(event),
    finished: () => bus.finished(),
  };
}

type Wrap = (context: Any, bus: Bus) => Execution;

// One execution of a task serves its cancel as well.
function wrapped(executor: TestExecutor, wrap: Wrap) {
  const contexts = new Map<string, Any>();
  return {
    async execute(context: object, bus: Bus): Promise<void> {
      const run = wrap(context as Any, bus);
      contexts.set(run.taskId, context as Any);
      await executor.execute(run);
    },
    async cancelTask(taskId: string, bus: Bus): Promise<void> {
      await executor.cancelTask?.(taskId, wrap(contexts.get(taskId) ?? {}, bus));
    },
  };
}

export const shapes: readonly Shape[] = [
  { sdk: "1", host: (executor) => fromExecutor(wrapped(executor, executionV1) satisfies AgentExecutor) },
  {
    sdk: "0.3",
    host: (executor) => fromExecutor(wrapped(executor, executionV03) satisfies AgentExecutorV03, { sdk: "0.3" }),
  },
];
