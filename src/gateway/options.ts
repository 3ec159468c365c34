import type { CardOptions } from "../card/options.js";
import type { AgentAddress } from "../client/connect.js";
import type { ClientOptions } from "../client/options.js";
import type { HostOptions, ListenOptions } from "../server/options.js";

/** How the gateway itself calls its agent; see `ClientOptions`. */
export type UpstreamOptions = Omit<ClientOptions, "extendedCard" | "clock">;

/** An agent somewhere else, and the port it is served on again. */
export interface GatewayOptions extends HostOptions, ListenOptions {
  /** The agent behind the gateway: the URL of its base or of its card, or the card itself. A card that was given as an object is never read again. */
  readonly upstream: AgentAddress;
  /** Credentials, headers, limits and the like of the gateway's own calls. To the agent all callers are then one. */
  readonly client?: UpstreamOptions | undefined;
  /** Headers, or gRPC metadata, of a caller that are passed on with its calls: `["authorization"]`. Default: none. */
  readonly forward?: readonly string[] | undefined;
  /** Whom the card is for, as in the card of an agent of one's own. Default: `"both"`. */
  readonly audience?: CardOptions["audience"];
  /** How often the card of the agent is read again, in milliseconds; 0: only when a call has failed. Default: 300,000. */
  readonly refreshMs?: number | undefined;
}

export const defaultRefreshMs = 300_000;
