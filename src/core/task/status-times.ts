import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Task } from "../../protocol/model.js";
import type { Lease } from "../lease.js";
import type { LogRecord, WrittenStatus } from "../ports.js";
import { summaryAfter } from "./fold.js";

/** Assigns the times of a task's statuses: by the store's clock, which all processes share, and never decreasing. */
export class StatusTimes {
  readonly #lease: Pick<Lease, "storeTime">;
  #last: number;

  /** `last`: time of the last stored status. */
  constructor(lease: Pick<Lease, "storeTime">, last: number) {
    this.#lease = lease;
    this.#last = last;
  }

  /** Sets the time of each status among the records of a write to the task. Returns the last status. */
  stamp(task: Task, records: readonly LogRecord[]): WrittenStatus | undefined {
    let last: WrittenStatus | undefined;
    for (const record of records) {
      if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      const { status } = record.event.payload.value;
      if (status === undefined) continue;
      this.#last = Math.max(this.#lease.storeTime(), this.#last);
      status.timestamp = timestampFromMs(this.#last);
      last = { state: status.state, time: this.#last };
    }
    return last === undefined ? undefined : { ...last, summary: summaryAfter(task, records) };
  }
}
