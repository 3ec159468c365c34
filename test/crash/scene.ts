import type { Random } from "../core/simulator/random.js";
import type { Receiver } from "../push/receiver.js";
import type { Callers } from "./callers.js";
import type { Ledger } from "./ledger.js";
import type { MortalServer } from "./mortal-server.js";

/** All that a crash run consists of. */
export interface Scene {
  readonly server: MortalServer;
  readonly callers: Callers;
  readonly webhook: Receiver;
  readonly ledger: Ledger;
  readonly random: Random;
  /** What the messages of this run are called. */
  readonly name: string;
  /** The file in which the agent notes its runs. */
  readonly runs: string;
  readonly restartable: boolean;
  /** How long what is owed may take once nothing disturbs any more. */
  readonly patienceMs: number;
}
