import type { JsonValue } from "@bufbuild/protobuf";
import { noop } from "../../protocol/async/noop.js";
import type { AuthorizationRequest } from "../../protocol/authorization/request.js";
import { createNameCheck } from "../../protocol/check/rules.js";
import { dataReader, type FileContent, filesOf, type ReadData, textOf } from "../../protocol/content/read.js";
import type { Principal } from "../../protocol/context.js";
import { type AgentEvent, authRequired } from "../../protocol/events.js";
import { isHttpToken } from "../../protocol/http-token.js";
import type { Logger } from "../../protocol/logger.js";
import type { Message, SendMessageConfiguration, Task } from "../../protocol/model.js";
import { type AuthorizationEnd, type TokenBudget, type Turn, TurnAborted } from "../agent.js";
import { openContextState } from "../conversation/context-state.js";
import type { ContextState } from "../conversation-view.js";
import type { TurnCause } from "../ports.js";
import { readConversation } from "../read/conversation.js";
import { foldStored } from "../task/fold.js";
import type { TurnRun } from "./run.js";
import { YieldBudget } from "./run-agent.js";

const maxReferences = 16;

const checkHistory = createNameCheck<{ last?: number | undefined }>("turn.history()", { last: true });

/** The agent's view of its turn. Members are created on access, so that destructuring pays only for what it takes. */
export class AgentTurn implements Turn {
  readonly #run: TurnRun;
  #yieldBudget: YieldBudget | undefined;

  constructor(run: TurnRun) {
    this.#run = run;
  }

  #budget(): YieldBudget {
    this.#yieldBudget ??= new YieldBudget(this.#run);
    return this.#yieldBudget;
  }

  get message(): Message {
    return this.#run.message;
  }

  get text(): string {
    return textOf(this.#run.message.parts);
  }

  get data(): ReadData {
    return dataReader(() => this.#run.message);
  }

  get files(): readonly FileContent[] {
    return filesOf(this.#run.message);
  }

  get task(): Task | undefined {
    return this.#run.before;
  }

  get taskId(): string {
    return this.#run.taskId;
  }

  get contextId(): string {
    return this.#run.contextId;
  }

  get configuration(): SendMessageConfiguration | undefined {
    return this.#run.start.send.configuration;
  }

  get metadata(): Message["metadata"] {
    return this.#run.start.send.metadata;
  }

  get extensions(): readonly string[] {
    return this.#run.start.send.extensions;
  }

  get principal(): Principal {
    return this.#run.start.principal;
  }

  get tenant(): string {
    return this.#run.scope.tenant;
  }

  get header(): Turn["header"] {
    return (name) => {
      if (!isHttpToken(name)) throw new TypeError(`header(): ${JSON.stringify(name)} is not the name of a header`);
      return this.#run.start.header?.(name.toLowerCase());
    };
  }

  get deadline(): number | undefined {
    return this.#run.start.deadline;
  }

  get attempt(): number {
    return this.#run.start.attempt;
  }

  get cause(): TurnCause {
    return this.#run.start.cause;
  }

  get wake(): JsonValue | undefined {
    return this.#run.start.wake;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get logger(): Logger {
    return this.#run.logger;
  }

  get emit(): (event: AgentEvent) => Promise<void> {
    return (event) => markHandled(emit(this.#run, this.#budget(), event));
  }

  get flush(): () => Promise<void> {
    return () => markHandled(this.#run.flush());
  }

  get receive(): () => Promise<Message> {
    return () => markHandled(this.#run.inbox.receive());
  }

  get ask(): (event: AgentEvent) => Promise<Message> {
    return (event) => markHandled(ask(this.#run, event));
  }

  get authorize(): Turn["authorize"] {
    return (request) => markHandled(authorize(this.#run, request));
  }

  get history(): Turn["history"] {
    return async (options = {}) => {
      checkHistory(options);
      const { last } = options;
      const history = this.#run.live?.task.history ?? [this.#run.message];
      return last === undefined ? [...history] : history.slice(Math.max(0, history.length - last));
    };
  }

  get conversation(): Turn["conversation"] {
    return (page = {}) => markHandled(readConversation(this.#run, page));
  }

  get context(): ContextState {
    const run = this.#run;
    const { runtime, scope, contextId } = run;
    const { storeWaitMs, storeRetryMs } = runtime.limits;
    // Without a task, the caller of the send waits for the turn.
    const retryMs = (): number => (run.live === undefined ? storeWaitMs : storeRetryMs);
    return openContextState(runtime, { scope, contextId, retryMs });
  }

  get charge(): Turn["charge"] {
    return (usage) => markHandled(charge(this.#run, usage?.tokens));
  }

  get client(): Turn["client"] {
    return (path, options) => {
      const { runtime, start } = this.#run;
      if (runtime.clients === undefined)
        throw new TypeError("turn.client() needs a server of several agents: serve({ agents })");
      const { principal, requestId, header, chain } = start;
      const { signal } = this.#run;
      const leftMs = (): number | undefined => this.#run.leftMs();
      return runtime.clients(path, { principal, signal, requestId, header, chain, leftMs }, options);
    };
  }

  get references(): Turn["references"] {
    return async () => {
      const { runtime, scope, message } = this.#run;
      const ids = [...new Set(message.referenceTaskIds)].slice(0, maxReferences);
      const tasks = await Promise.all(ids.map((id) => runtime.store.read(scope, id)));
      return tasks.filter((each) => each !== undefined).map((each) => foldStored(each));
    };
  }
}

async function emit(run: TurnRun, budget: YieldBudget, event: AgentEvent): Promise<void> {
  try {
    await run.emit(event);
  } catch (error) {
    // The agent may not await it, so it is logged here as well.
    if (!(error instanceof TurnAborted)) {
      run.logger.warn({ err: error }, "an event of the agent was refused");
    }
    // Keeps an agent that ignores its abort from spinning.
    await budget.yield();
    throw error;
  }
  if (budget.count()) await budget.yield();
}

async function charge({ runtime, scope, start }: TurnRun, tokens: number): Promise<TokenBudget> {
  if (!Number.isSafeInteger(tokens) || tokens < 0) {
    throw new TypeError(`charge(): tokens must be a whole number of 0 or more, not ${String(tokens)}`);
  }
  const { message } = start.send;
  return runtime.charge?.({ scope, message }, tokens) ?? { left: Number.POSITIVE_INFINITY };
}

async function ask(run: TurnRun, event: AgentEvent): Promise<Message> {
  return (await emitQuestion(run, event, false)) ?? run.inbox.receive();
}

async function authorize(run: TurnRun, request: AuthorizationRequest): Promise<AuthorizationEnd> {
  const message = await emitQuestion(run, authRequired(request), true);
  return message === undefined ? run.inbox.messageOrWake() : { message, wake: undefined };
}

/** Emits a question. Returns its answer if an earlier run of the turn got it. */
async function emitQuestion(run: TurnRun, event: AgentEvent, takesWakes: boolean): Promise<Message | undefined> {
  const before = run.findEarlierAnswer(event, takesWakes);
  if (typeof before === "object") return before;
  if (before === undefined) await run.emit(event);
  return undefined;
}

// An agent may emit from a callback without awaiting: an unhandled refusal must not end the process.
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(noop);
  return promise;
}
