import type { Clock } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { inProcessBinding } from "../protocol/bindings.js";
import type { CallOptions } from "../protocol/context.js";
import type { AgentCard } from "../protocol/model.js";
import { invokeStream, invokeUnary, type Operations } from "../protocol/operations.js";
import type { Content } from "../protocol/parts.js";
import type { AgentAccess } from "./agent-access.js";
import type { Answer } from "./answer/answer.js";
import type { AnswerStream } from "./answer/answer-stream.js";
import { BaseClient, type Client, type ClientParts } from "./base-client.js";
import { type Connection, createConnection } from "./connection.js";
import { openStream } from "./interface-client.js";
import { defaultClientLimits, fixedClientLimits } from "./options.js";
import { createRetries } from "./retrying.js";
import type { SendOptions, TaskCallOptions } from "./send-options.js";

/** An agent of this process, and how it is called. */
export interface LocalAgent {
  readonly url: string;
  /** Its card at the moment. */
  readonly card: () => AgentCard;
  readonly operations: Operations<CallOptions>;
  readonly clock: Clock;
  /** Options of every message and call, unless it has others. */
  readonly defaults?: (() => SendOptions) | undefined;
  /** The parts of a client whose calls are followed. Default: the same parts. */
  readonly observe?: ((parts: ClientParts) => ClientParts) | undefined;
}

/** A client of an agent in the same process: there is no card to find, no interface to choose and no wire. */
export function localClient(agent: LocalAgent): Client {
  const closing = new AbortController();
  const parts: ClientParts = {
    access: accessTo(agent),
    clock: agent.clock,
    limits: { ...defaultClientLimits, ...fixedClientLimits },
    // In this process no call is lost on the way, so a refusal is final.
    retries: createRetries({ maxAttempts: 1 }),
    options: { sendOnce: false },
    closeSignal: closing.signal,
    refresh: async () => {},
    close: async () => closing.abort(new DOMException("the client is closed", "AbortError")),
  };
  // The constructor has added the operations from the table.
  return new LocalClient(agent.observe?.(parts) ?? parts, agent.defaults) as LocalClient & Client;
}

class LocalClient extends BaseClient {
  readonly #defaults: () => SendOptions;

  constructor(parts: ClientParts, defaults: () => SendOptions = () => ({})) {
    super(parts);
    this.#defaults = defaults;
  }

  override send(content: Content, options: SendOptions = {}): Promise<Answer> {
    return super.send(content, this.#with(options));
  }

  override stream(content: Content, options: SendOptions = {}): AnswerStream {
    return super.stream(content, this.#with(options));
  }

  override watch(taskId: string, options: TaskCallOptions = {}): AnswerStream {
    return super.watch(taskId, this.#withCall(options));
  }

  override wait(taskId: string, options: TaskCallOptions = {}): Promise<Answer> {
    return super.wait(taskId, this.#withCall(options));
  }

  #with(options: SendOptions): SendOptions {
    return { ...this.#defaults(), ...options };
  }

  #withCall(options: TaskCallOptions): TaskCallOptions {
    const { cancelOnAbort: _, ...call } = this.#with(options);
    return call;
  }
}

function accessTo({ url, card, operations }: LocalAgent): AgentAccess {
  return {
    get card() {
      return card();
    },
    get connection(): Connection {
      const [newest] = card().supportedInterfaces;
      return createConnection({ binding: inProcessBinding, url, version: newest?.protocolVersion ?? "" }, []);
    },
    isRepeatable: () => false,
    replaceCard: noop,
    unary: (operation, request, options) => invokeUnary(operations, operation, request, options),
    open: (operation, request, options, leaveSignal) =>
      openStream(invokeStream(operations, operation, request, options), leaveSignal),
    close: async () => {},
  };
}
