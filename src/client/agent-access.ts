import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import type { CallOptions } from "../protocol/context.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import type { Connection } from "./connection.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import { InterfacePool, type InterfacePoolOptions } from "./interface-pool.js";

/** The agent of a client: its card, and calls to it. */
export interface AgentAccess extends Attempt {
  readonly card: AgentCard;
  /** The interface that answered last; `undefined` before the first answer. */
  readonly connection: Connection | undefined;
  /** Whether a call may be sent twice. */
  readonly isRepeatable: (operation: Operation, options: CallOptions) => boolean;
  /** Uses another card from the next call on; open streams stay where they are. */
  replaceCard(card: AgentCard): void;
  close(): Promise<void>;
}

/** Calls an agent over the interfaces of its card, and follows later changes of the card. */
export class CardAccess implements AgentAccess {
  readonly #createOptions: (card: AgentCard) => InterfacePoolOptions;
  #card: AgentCard;
  #pool: InterfacePool;

  constructor(card: AgentCard, createOptions: (card: AgentCard) => InterfacePoolOptions) {
    this.#createOptions = createOptions;
    this.#card = card;
    this.#pool = new InterfacePool(card, createOptions(card));
  }

  get card(): AgentCard {
    return this.#card;
  }

  get connection(): Connection | undefined {
    return this.#pool.connection;
  }

  readonly isRepeatable = (operation: Operation, options: CallOptions): boolean =>
    this.#pool.isRepeatable(operation, options);

  replaceCard(card: AgentCard): void {
    const before = this.#card;
    this.#card = card;
    if (before === card || describeAccess(before) === describeAccess(card)) return;
    this.#pool.close().catch(noop);
    this.#pool = new InterfacePool(card, this.#createOptions(card));
  }

  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    return this.#pool.unary(operation, request, options);
  }

  open(operation: Operation, request: AnyMessage, options: CallOptions, leaveSignal: AbortSignal): Promise<OpenStream> {
    return this.#pool.open(operation, request, options, leaveSignal);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** How the agent of a card is reached: while it stays the same, connections and tokens remain valid. */
function describeAccess({
  supportedInterfaces,
  securitySchemes,
  securityRequirements,
  capabilities,
}: AgentCard): string {
  return JSON.stringify([supportedInterfaces, securitySchemes, securityRequirements, capabilities?.extensions]);
}
