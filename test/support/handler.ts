import { coreLimits } from "../../src/core/limits.js";
import type { TaskStore } from "../../src/core/ports.js";
import {
  createRequestHandler,
  type ReplaceableHandler,
  type RequestHandlerOptions,
} from "../../src/core/request-handler.js";
import { StoreHealth } from "../../src/core/store-health.js";
import { createContext, type ServerContext } from "../../src/protocol/context.js";
import type { Part, SendMessageResponse, Task } from "../../src/protocol/model.js";
import type { Operations, StreamItem } from "../../src/protocol/operations.js";
import { processSignals } from "../../src/signals/in-process.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { withTaskNames } from "../../src/version/v0.1/named-tasks.js";
import { type LogLine, recordingLogger } from "./recording-logger.js";
import { type OpenStream, openStream, requestOf, type SayOptions, say, taskOf } from "./say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "./virtual-clock.js";

type Content = string | readonly Part[];
type Caller = Partial<Omit<ServerContext, "signal" | "caller">> & {
  /** The caller chooses the names of its tasks. */
  readonly namesTasks?: boolean;
};

/** An agent's request handler without a binding, and its operations for a caller. */
export interface TestHandler {
  readonly handler: ReplaceableHandler;
  /** The health of its store. */
  readonly health: StoreHealth;
  readonly operations: Operations<ServerContext>;
  /** The operations for callers that name their tasks. */
  readonly namedOperations: Operations<ServerContext>;
  readonly clock: VirtualClock;
  readonly store: TaskStore;
  readonly log: readonly LogLine[];
  send(content: Content, sayOptions?: SayOptions, caller?: Caller): Promise<SendMessageResponse>;
  stream(content: Content, sayOptions?: SayOptions, caller?: Caller): AsyncIterable<StreamItem>;
  get(id: string, caller?: Caller): Promise<Task>;
  cancel(id: string, caller?: Caller): Promise<Task>;
  subscribe(id: string, caller?: Caller): AsyncIterable<StreamItem>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type TestHandlerOptions = Partial<RequestHandlerOptions> &
  Pick<RequestHandlerOptions, "agent"> & { readonly clock?: VirtualClock };

/** Creates a handler over its own store, unless one is given, with a clock that stands still. */
export function startHandler(options: TestHandlerOptions): TestHandler {
  const { clock = createVirtualClock() } = options;
  const { store = memoryTaskStore({ clock }) } = options;
  const { log, logger } = recordingLogger();
  const health =
    options.process?.health ?? new StoreHealth({ logger, ...options, clock, limits: coreLimits(options.limits) });
  const handler = createRequestHandler({ signals: processSignals, logger, health, ...options, store, clock });
  const { operations } = handler;
  const namedOperations = withTaskNames(operations, handler.taskNames);
  const of = (caller?: Caller): Operations<ServerContext> =>
    caller?.namesTasks === true ? namedOperations : operations;
  return {
    handler,
    health,
    operations,
    namedOperations,
    clock,
    store,
    log,
    send: (content, sayOptions, caller) => of(caller).sendMessage(say(content, sayOptions), contextOf(caller)),
    stream: (content, sayOptions, caller) =>
      of(caller).sendStreamingMessage(say(content, sayOptions), contextOf(caller)),
    get: (id, caller) => of(caller).getTask(requestOf("getTask", { id }), contextOf(caller)),
    cancel: (id, caller) => of(caller).cancelTask(requestOf("cancelTask", { id }), contextOf(caller)),
    subscribe: (id, caller) => of(caller).subscribeToTask(requestOf("subscribeToTask", { id }), contextOf(caller)),
    [Symbol.asyncDispose]: () => turnUntil(clock, handler.close()),
  };
}

/** A handler whose agent has started a task. */
export interface StartedTask extends TestHandler {
  readonly taskId: string;
  /** The stream of the send that started it. */
  readonly opening: OpenStream;
}

/** Starts a handler, sends `go`, and waits until no work is left. */
export async function beginTask(options: TestHandlerOptions): Promise<StartedTask> {
  const testHandler = startHandler(options);
  const opening = await openStream(testHandler.stream("go"));
  await settle();
  return { ...testHandler, taskId: taskOf(opening.firstItem.response).id, opening };
}

/** The context of a call; the caller is Alice by default. */
export function contextOf(caller: Caller = {}): ServerContext {
  const { namesTasks: _, ...fields } = caller;
  const defaults = { principal: { owner: "alice" }, binding: "JSONRPC", version: "1.0", extensions: [] } as const;
  return createContext({ ...defaults, after: undefined, ...fields });
}
