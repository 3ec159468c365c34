import type { Random } from "../core/simulator/random.js";
import type { Receiver } from "../push/receiver.js";
import type { Callers } from "./callers.js";
import type { Ledger } from "./ledger.js";
import type { MortalServer } from "./mortal-server.js";

/** The parts of a crash run. */
export interface Scene {
  readonly server: MortalServer;
  readonly callers: Callers;
  readonly webhook: Receiver;
  readonly ledger: Ledger;
  readonly random: Random;
  /** The prefix of this run's messages. */
  readonly name: string;
  /** The file in which the agent records its runs. */
  readonly runs: string;
  readonly restartable: boolean;
  /** How long outstanding work may take once the kills have stopped. */
  readonly patienceMs: number;
  /** Aborted when the test is over, by its timeout or from outside. */
  readonly signal: AbortSignal | undefined;
}
