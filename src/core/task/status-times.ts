import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Clock, LogRecord } from "../ports.js";
import type { Write } from "./write.js";

/** Assigns the times of a task's statuses, which never decrease. */
export class StatusTimes {
  readonly #clock: Clock;
  #last: number;

  /** `last`: time of the last stored status. */
  constructor(clock: Clock, last: number) {
    this.#clock = clock;
    this.#last = last;
  }

  /** Sets the time of each status among the records of a write. Returns the last status. */
  stamp(records: readonly LogRecord[]): Write["body"]["status"] {
    let stamped: Write["body"]["status"];
    for (const record of records) {
      if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      const { status } = record.event.payload.value;
      if (status === undefined) continue;
      this.#last = Math.max(this.#clock.now(), this.#last);
      status.timestamp = timestampFromMs(this.#last);
      stamped = { state: status.state, time: this.#last };
    }
    return stamped;
  }
}
