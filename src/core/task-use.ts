// While the store is away, sends are refused before their agent starts, unless the agent needs no store. Nobody knows
// before a turn whether it will make a task. If the outcome of a turn could not be stored, its side effects would
// remain, and each retry of the caller would repeat them. So the process decides by the agent's earlier turns.
//
// If an agent that has only replied then needs its first task, that write fails like any first write: the caller is
// refused, and the agent is not started again during the outage. There is no option to declare this, since it could be
// set wrongly. An idempotent send is always refused, since its record is written before the agent starts.

/**
 * Whether an agent makes tasks, as far as its turns have shown: its answer to a message is unknown before it runs. An agent
 * that has only ever answered with messages needs no store. Its sends neither wait for the store nor are refused while it
 * is away. The first turn that needs a task changes that for good. Each release of an agent begins anew.
 */
export class TaskUse {
  #hasReplied = false;
  #makesTasks = false;

  /** True once the agent has answered with a message, and never needed a task. */
  get isNone(): boolean {
    return this.#hasReplied && !this.#makesTasks;
  }

  /** Notes that the agent has answered with a message alone, even if its caller got a task meanwhile. */
  noteReply(): void {
    this.#hasReplied = true;
  }

  /** Notes that the agent has done something that needs a task. */
  noteTask(): void {
    this.#makesTasks = true;
  }
}
