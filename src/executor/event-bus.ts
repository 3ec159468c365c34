import { EventEmitter } from "node:events";
import type { ExecutionEventBus } from "./executor.js";

/** What the bus passes on. */
interface BusSink {
  publish(event: unknown): void;
  finished(): void;
}

/** The event bus of an execution, with the listeners that the SDK's has. */
export class EventBus extends EventEmitter implements ExecutionEventBus<unknown> {
  readonly #sink: BusSink;

  constructor(sink: BusSink) {
    super();
    // The SDK's bus counts no listeners.
    this.setMaxListeners(0);
    this.#sink = sink;
  }

  publish(event: unknown): void {
    this.#sink.publish(event);
    this.emit("event", event);
  }

  finished(): void {
    this.#sink.finished();
    this.emit("finished");
  }
}
