/**
 * Whether an agent makes tasks, as its turns have shown. What it does with a message is unknown before it runs. One that
 * has only ever answered with messages needs no store, so its sends neither wait for it nor are refused while it is
 * away. The first turn that needs a task changes that for good. Each release of an agent begins anew.
 */
export class TaskUse {
  #hasReplied = false;
  #makesTasks = false;

  /** True once the agent has answered with a message, and never needed a task. */
  get isNone(): boolean {
    return this.#hasReplied && !this.#makesTasks;
  }

  /** The agent has answered with a message alone, whether or not its caller has got a task meanwhile. */
  noteReply(): void {
    this.#hasReplied = true;
  }

  /** The agent has done what needs a task. */
  noteTask(): void {
    this.#makesTasks = true;
  }
}
