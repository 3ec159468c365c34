import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import type { CallOptions } from "../protocol/context.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import { type Composition, createPool } from "./compose.js";
import type { Connection } from "./connection.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import type { InterfacePool } from "./interface-pool.js";

/** Access to a card's agent, which follows later changes of the card's interfaces. */
export class AgentAccess implements Attempt {
  readonly #composition: (card: AgentCard) => Composition;
  #card: AgentCard;
  #pool: InterfacePool;

  constructor(card: AgentCard, composition: (card: AgentCard) => Composition) {
    this.#composition = composition;
    this.#card = card;
    this.#pool = createPool(card, composition(card));
  }

  get card(): AgentCard {
    return this.#card;
  }

  get connection(): Connection | undefined {
    return this.#pool.connection;
  }

  readonly isRepeatable = (operation: Operation, options: CallOptions): boolean =>
    this.#pool.isRepeatable(operation, options);

  /** Uses another card from the next call on; open streams stay where they are. */
  replaceCard(card: AgentCard): void {
    const before = this.#card;
    this.#card = card;
    if (isReachedAlike(before, card)) return;
    this.#pool.close().catch(noop);
    this.#pool = createPool(card, this.#composition(card));
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

/** Whether two cards describe the same access to their agent, so that connections and tokens remain valid. */
function isReachedAlike(one: AgentCard, other: AgentCard): boolean {
  return one === other || describeAccess(one) === describeAccess(other);
}

function describeAccess({
  supportedInterfaces,
  securitySchemes,
  securityRequirements,
  capabilities,
}: AgentCard): string {
  return JSON.stringify([supportedInterfaces, securitySchemes, securityRequirements, capabilities?.extensions]);
}
