import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import { type Composition, poolOf, repeatableAt } from "./compose.js";
import type { Connection } from "./connection.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import type { InterfacePool } from "./interface-pool.js";

/** The agent of a card, whichever interfaces the card lists now. */
export class AgentAccess implements Attempt {
  readonly #composition: (card: AgentCard) => Composition;
  readonly #retired: InterfacePool[] = [];
  #card: AgentCard;
  #pool: InterfacePool;
  #isRepeatable: (operation: Operation) => boolean;

  constructor(card: AgentCard, composition: (card: AgentCard) => Composition) {
    this.#composition = composition;
    this.#card = card;
    this.#pool = poolOf(card, composition(card));
    this.#isRepeatable = repeatableAt(card);
  }

  get card(): AgentCard {
    return this.#card;
  }

  get connection(): Connection | undefined {
    return this.#pool.connection;
  }

  readonly isRepeatable = (operation: Operation): boolean => this.#isRepeatable(operation);

  /** Goes by another card from the next call on; streams that are open stay where they are. */
  replaceCard(card: AgentCard): void {
    if (card === this.#card) return;
    this.#retired.push(this.#pool);
    this.#card = card;
    this.#pool = poolOf(card, this.#composition(card));
    this.#isRepeatable = repeatableAt(card);
  }

  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    return this.#pool.unary(operation, request, options);
  }

  open(operation: Operation, request: AnyMessage, options: CallOptions, left: AbortSignal): Promise<OpenStream> {
    return this.#pool.open(operation, request, options, left);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#retired, this.#pool].map((pool) => pool.close()));
  }
}
