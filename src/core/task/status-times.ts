import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Lease } from "../lease.js";
import type { LogRecord } from "../ports.js";
import type { Write } from "./write.js";

/** Assigns the times of a task's statuses: by the store's clock, which all processes share, and never decreasing. */
export class StatusTimes {
  readonly #lease: Pick<Lease, "storeTime">;
  #last: number;

  /** `last`: time of the last stored status. */
  constructor(lease: Pick<Lease, "storeTime">, last: number) {
    this.#lease = lease;
    this.#last = last;
  }

  /** Sets the time of each status among the records of a write. Returns the last status. */
  stamp(records: readonly LogRecord[]): Write["body"]["status"] {
    let stamped: Write["body"]["status"];
    for (const record of records) {
      if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      const { status } = record.event.payload.value;
      if (status === undefined) continue;
      this.#last = Math.max(this.#lease.storeTime(), this.#last);
      status.timestamp = timestampFromMs(this.#last);
      stamped = { state: status.state, time: this.#last };
    }
    return stamped;
  }
}
