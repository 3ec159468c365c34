import type { JsonValue } from "@bufbuild/protobuf";
import type { ReplaceableHandler } from "../core/request-handler.js";
import { renameOptions } from "../protocol/check/former-options.js";
import { assertOptions } from "../protocol/check/rules.js";
import { anonymous } from "./authentication.js";
import { composeLocalAgent } from "./compose-local-agent.js";
import type { ComposedAgent, InProcessAgent } from "./composition.js";
import { createHandlers, type Handlers } from "./mounting.js";
import { mountedRule } from "./option-rules.js";
import type { AgentOptions } from "./options.js";
import { closeOnFailure, openServerProcess } from "./server-process.js";

export type { InProcessAgent } from "./composition.js";

/** The owner of a task. */
export interface TaskOwner {
  /** `owner` of the principal. Default: the shared owner of an agent without `auth` and `authenticate`. */
  readonly owner?: string | undefined;
  /** `tenant` of the principal. Default: `""`. */
  readonly tenant?: string | undefined;
}

/** The tasks of an agent, for the program that runs the agent. */
export interface TaskAccess {
  /**
   * Starts the next turn of a task that is parked or waits for its caller, with `cause: "wake"` and this data. While a
   * turn runs, one wake is kept until the turn ends and further ones are dropped; when the task ends, all are. Resolves
   * with false for a task that has ended. Rejects with `taskNotFound`.
   */
  wake(taskId: string, data?: JsonValue, of?: TaskOwner): Promise<boolean>;
}

/** The conversations of an agent, for the program that runs the agent. */
export interface ConversationAccess {
  /**
   * Deletes the conversation and the state of a context. Resolves with false if there is none. Tasks of the context
   * stay, and a running turn adds to the conversation again.
   */
  delete(contextId: string, of?: TaskOwner): Promise<boolean>;
}

/** An agent that runs in this process. */
export interface RunningAgent {
  /** The conversations, for the program that runs the agent. */
  readonly conversations: ConversationAccess;
  /** The tasks, for the program that runs the agent. */
  readonly tasks: TaskAccess;
}

/** @deprecated Use `TaskAccess`. */
export type HostTasks = TaskAccess;
/** @deprecated Use `ConversationAccess`. */
export type HostConversations = ConversationAccess;
/** @deprecated Use `RunningAgent`. */
export type HostedAgent = RunningAgent;

/** An agent without its own port, to mount in an existing server. Close it when that server closes. */
export interface MountedAgent extends InProcessAgent, RunningAgent, Handlers {
  /**
   * Refuses new work, waits up to `drainMs` milliseconds for turns (default: 10,000), then aborts them. A second call
   * waits for the same end.
   */
  close(drainMs?: number): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates an agent to mount in an existing server, over JSON-RPC and HTTP+JSON; gRPC needs `serve`. Rejects with a
 * `TypeError` for wrong options, and with a `CardError` for a card that contradicts itself.
 *
 * @example
 * ```ts
 * const mounted = await createAgent({ card, agent, basePath: "/agents/weather" });
 * const server = createServer(mounted.nodeListener());
 * server.listen(8080);
 * server.on("close", () => mounted.close());
 * ```
 */
export async function createAgent(options: AgentOptions): Promise<MountedAgent> {
  const agentOptions = renameOptions("createAgent()", options);
  assertOptions("createAgent()", agentOptions, mountedRule);
  const { publicUrl, basePath } = agentOptions;
  const origin = publicUrl === undefined ? "http://localhost" : (URL.parse(publicUrl)?.origin ?? "");
  // The handlers know where they are mounted, and may be mounted at several paths.
  const address = { origin, mountPath: basePath };
  const process = await openServerProcess(agentOptions);
  const environment = { process, listening: () => address, isMounted: true };
  const agent = await composeLocalAgent({ ...agentOptions, basePath: undefined }, environment).catch(
    closeOnFailure(process),
  );
  const end = async (drainMs: number): Promise<void> => {
    agent.admission.close();
    await agent.handler.drain(drainMs);
    await agent.dispose();
    await process.close();
  };
  let ending: Promise<void> | undefined;
  const close = (drainMs = 10_000): Promise<void> => {
    ending ??= end(drainMs);
    return ending;
  };
  return {
    ...createHandlers(agent, agentOptions),
    get card() {
      return agent.card.card();
    },
    inProcess: agent.inProcess,
    ...createTaskAccess(agent),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Gives the program that runs an agent access to its tasks and conversations. */
export function createTaskAccess({ handler }: ComposedAgent<ReplaceableHandler>): RunningAgent {
  return {
    tasks: {
      wake: (taskId, data, { owner = anonymous.owner, tenant = "" } = {}) =>
        handler.wake({ owner, tenant }, taskId, data),
    },
    conversations: {
      delete: (contextId, { owner = anonymous.owner, tenant = "" } = {}) =>
        handler.deleteConversation({ owner, tenant }, contextId),
    },
  };
}
