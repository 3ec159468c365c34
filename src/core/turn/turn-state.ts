import { type AbortKind, TurnAborted } from "../agent.js";
import type { Park } from "../ports.js";

// A turn is one state machine in two regions. Each transition is a method of `TurnState`. One that its state does not
// allow throws a `TypeError`; `takeMessage` and `takeAbortReason` change nothing instead.
//
// | phase    | transition      | next     |                                                                       |
// |----------|-----------------|----------|-----------------------------------------------------------------------|
// | running  | abort           | aborting | the agent is asked to stop; the grace period starts                   |
// | aborting | takeAbortReason | aborting | the reason is delivered once: to pending waits, else to the next call |
// | running  | end             | ending   | the agent has returned or thrown, or ownership was lost               |
// | aborting | end             | ending   | the agent has unwound, or its grace period is over                    |
//
// | output   | transition      | next     |                                                                       |
// |----------|-----------------|----------|-----------------------------------------------------------------------|
// | silent   | emitEvent       | speaking | an event is accepted, or the task is created; stopped stays           |
// | open     | takeMessage     | speaking | a message is taken from the inbox                                     |
// | open     | emitStatus      | stopped  | a status that answers a send; any other status leads to speaking      |
// | open     | park            | parked   | the turn ends when its agent does, and continues later                |
// | open     | answer          | answered | a reply or a terminal status                                          |
// | parked   | answer          | answered | only in the phase `ending`: the agent failed, or the task is canceled |
//
// "open" is silent, speaking or stopped; parked and answered are closed. Events are accepted while the output is open and
// the phase is not `ending`.

/** Whether the agent runs. */
export type TurnPhase =
  | { readonly name: "running" }
  /** `delivered`: the agent has received the reason. */
  | { readonly name: "aborting"; readonly reason: TurnAborted; readonly delivered: boolean }
  /** The end of the turn is being written or is stored. `reason`: why it was aborted, if it was. */
  | { readonly name: "ending"; readonly reason: TurnAborted | undefined };

/** The output of the turn so far. */
export type TurnOutput =
  | { readonly name: "silent" | "speaking" | "stopped" | "answered" }
  | { readonly name: "parked"; readonly park: Park };

const runningPhase: TurnPhase = { name: "running" };
const silentOutput: TurnOutput = { name: "silent" };
const speakingOutput: TurnOutput = { name: "speaking" };
const stoppedOutput: TurnOutput = { name: "stopped" };
const answeredOutput: TurnOutput = { name: "answered" };

/** The state of one turn. */
export class TurnState {
  #phase: TurnPhase = runningPhase;
  #output: TurnOutput = silentOutput;

  get phase(): TurnPhase {
    return this.#phase;
  }

  get output(): TurnOutput {
    return this.#output;
  }

  /** Why the turn was aborted, if it was. */
  get abortReason(): TurnAborted | undefined {
    return this.#phase.name === "running" ? undefined : this.#phase.reason;
  }

  /** True once nothing more can be written: the turn is parked or answered. */
  get isOutputClosed(): boolean {
    return this.#output.name === "answered" || this.#output.name === "parked";
  }

  abort(kind: AbortKind): TurnAborted {
    if (this.#phase.name !== "running") throw invalidTransition("abort", this.#phase.name);
    const reason = new TurnAborted(kind);
    this.#phase = { name: "aborting", reason, delivered: false };
    return reason;
  }

  /** The reason to throw into the agent: returned once after an abort, and always while an aborted turn ends. */
  takeAbortReason(): TurnAborted | undefined {
    const phase = this.#phase;
    if (phase.name !== "aborting") return this.abortReason;
    if (phase.delivered) return undefined;
    this.#phase = { ...phase, delivered: true };
    return phase.reason;
  }

  end(): void {
    if (this.#phase.name === "ending") throw invalidTransition("end", this.#phase.name);
    this.#phase = { name: "ending", reason: this.abortReason };
  }

  emitEvent(): void {
    if (this.isOutputClosed) throw invalidTransition("emitEvent", this.#output.name);
    if (this.#output === silentOutput) this.#output = speakingOutput;
  }

  takeMessage(): void {
    if (!this.isOutputClosed) this.#output = speakingOutput;
  }

  emitStatus(answersSend: boolean): void {
    if (this.isOutputClosed) throw invalidTransition("emitStatus", this.#output.name);
    this.#output = answersSend ? stoppedOutput : speakingOutput;
  }

  park(park: Park): void {
    if (this.isOutputClosed) throw invalidTransition("park", this.#output.name);
    this.#output = { name: "parked", park };
  }

  answer(): void {
    const isFinal = this.#output.name === "parked" && this.#phase.name === "ending";
    if (this.isOutputClosed && !isFinal) throw invalidTransition("answer", this.#output.name);
    this.#output = answeredOutput;
  }
}

function invalidTransition(transition: string, state: string): TypeError {
  return new TypeError(`invalid transition of a turn: ${transition} while ${state}`);
}
