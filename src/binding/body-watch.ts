import { timerMs } from "../protocol/async/clock.js";
import { A2AError } from "../protocol/errors.js";
import type { CallTimes } from "./listen/connection.js";

/** How often the rate is checked within the time limit. */
const checks = 3;

const minBytesPerSecond = 1024;

/** Watches the arrival of one request body: it must be complete in time, and arrive at a minimum rate until then. */
export class BodyWatch {
  readonly #times: CallTimes;
  readonly #fail: (error: A2AError) => void;
  #timer: NodeJS.Timeout;
  #check = 1;
  #bytes = 0;

  /** Starts watching. Calls `fail` at most once, with a `requestTimeout` error. */
  constructor(times: CallTimes, fail: (error: A2AError) => void) {
    this.#times = times;
    this.#fail = fail;
    this.#timer = this.#schedule();
  }

  /** Counts a piece of the body. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Stops watching, once the body is complete or given up. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => this.#look(), timerMs(this.#times.bodyTimeoutMs / checks));
  }

  #look(): void {
    const { bodyTimeoutMs } = this.#times;
    const windowMs = bodyTimeoutMs / checks;
    if (this.#check === checks) {
      this.#fail(
        new A2AError("requestTimeout", `the request body did not arrive within ${bodyTimeoutMs} ms (bodyTimeoutMs)`),
      );
    } else if (this.#bytes * 1000 < minBytesPerSecond * windowMs) {
      this.#fail(
        new A2AError("requestTimeout", `the request body arrived more slowly than ${minBytesPerSecond} bytes a second`),
      );
    } else {
      this.#check += 1;
      this.#bytes = 0;
      this.#timer = this.#schedule();
    }
  }
}
