import { EventEmitter } from "node:events";
import type { ExecutionEventBus } from "./executor.js";

/** The run that gets what is published on the bus. */
interface BusSink {
  publish(event: unknown): void;
  finished(): void;
}

/** The event bus of an execution. Like the SDK's, it emits `event` and `finished` to listeners. */
export class EventBus extends EventEmitter implements ExecutionEventBus<unknown> {
  readonly #sink: BusSink;

  constructor(sink: BusSink) {
    super();
    // The SDK's bus does not warn of many listeners.
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
