import type { TlsOptions } from "node:tls";
import type { Service } from "../../binding/service.js";
import type { TurnClients } from "../../core/turn-start.js";
import type { Clock } from "../../protocol/async/clock.js";
import type { Logger } from "../../protocol/logger.js";
import type { CallerGuard } from "../caller-guard.js";
import type { HostedAgentParts } from "../compose-agent.js";
import type { HostProcess } from "../host-process.js";
import type { Limits } from "../limits.js";
import type { ServerLimits } from "../rate-limiter.js";
import type { Directory, DirectoryEntry } from "./directory.js";
import type { Listeners } from "./listeners.js";
import type { ServeAgentsOptions, ServedAgentOptions } from "./options.js";

/** An agent of a server, with its own options. */
export interface ServedEntry extends DirectoryEntry<HostedAgentParts> {
  readonly agentOptions: ServedAgentOptions;
  /** Agents of one realm have the same callers. */
  readonly realm: string;
}

/** What the agents of a server share. */
export interface SharedParts {
  readonly options: ServeAgentsOptions & { readonly logger: Logger };
  readonly host: string;
  /** With the authorities of every scheme that reads certificates. */
  readonly tls: TlsOptions | undefined;
  readonly process: HostProcess;
  /** The authentication beside `agents`. */
  readonly callerGuard: CallerGuard;
  /** The limits beside `agents`. */
  readonly rates: ServerLimits | undefined;
  /** Counts for its address what reaches the server before an agent is known. */
  readonly arrivals: Service["rates"];
  readonly directory: Directory<ServedEntry>;
  /** Makes clients of the agents for the turns of one of them. */
  readonly clientsOf: (key: string, agentOptions: ServedAgentOptions) => TurnClients;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly drainMs: number;
  /** The server's address, once it listens. */
  readonly address: () => { readonly origin: string; readonly grpcPort: number | undefined };
  /** `undefined` until the server listens. */
  readonly listeners: () => Listeners | undefined;
}
