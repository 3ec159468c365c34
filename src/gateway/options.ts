import type { CardOptions } from "../card/options.js";
import type { AgentAddress } from "../client/connect.js";
import type { ClientOptions } from "../client/options.js";
import type { BaseServerOptions, ListenOptions } from "../server/options.js";

/** Options for the gateway's own calls to its agent; see `ClientOptions`. */
export type UpstreamOptions = Omit<ClientOptions, "extendedCard" | "clock">;

/** A remote agent, and the port to serve it on. */
export interface GatewayOptions extends BaseServerOptions, ListenOptions {
  /**
   * The upstream agent: the URL of its base or its card, or the card itself. A card passed as an object is never read
   * again.
   */
  readonly upstream: AgentAddress;
  /**
   * Credentials, headers and limits of the gateway's own calls. With credentials, the agent sees all callers as one.
   */
  readonly client?: UpstreamOptions | undefined;
  /** Headers, or gRPC metadata, of a caller to forward with its calls: `["authorization"]`. Default: none. */
  readonly forward?: readonly string[] | undefined;
  /** The audience of the card, as for a local agent. Default: `"both"`. */
  readonly audience?: CardOptions["audience"];
  /** How the card writes required scopes, as for a local agent. Default: `"protojson"`. */
  readonly securityRequirements?: CardOptions["securityRequirements"];
  /** Interval for reading the agent's card again, in milliseconds; 0: only after a failed call. Default: 300,000. */
  readonly refreshMs?: number | undefined;
}

export const defaultRefreshMs = 300_000;
