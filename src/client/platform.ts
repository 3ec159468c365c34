import type { AddressPolicy } from "../binding/fetch/address-policy.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import type { Fetch } from "../protocol/fetch.js";
import type { ClientParts } from "./base-client.js";
import type { CardCache } from "./card/card-cache.js";
import type { FixedClientLimits } from "./options.js";
import type { TransportFactory } from "./transports.js";
import type { KnownVersions } from "./versions.js";

export interface NetworkOptions {
  readonly connectTimeoutMs: number;
  readonly tls: ClientTls | undefined;
  /** The source of the host names: the caller (and redirects from there), or the card. */
  readonly namedBy: "caller" | "card";
  /** Where the card is read from; `undefined` when the caller passed it as an object. */
  readonly cardUrl: string | undefined;
  readonly allowPrivate: boolean | undefined;
}

/** Outgoing connections. */
export interface Network {
  readonly fetch: Fetch;
  readonly policy?: AddressPolicy | undefined;
  close(): Promise<void>;
}

/** The parts of a platform that a client uses. */
export interface Platform {
  /** The platform's bindings, for one client. */
  transports(versions: KnownVersions): readonly TransportFactory[];
  readonly cardCache: CardCache;
  /** Limits that no option changes, where tests need others. */
  readonly limits?: Partial<FixedClientLimits>;
  network(options: NetworkOptions): Network;
  /** Code of streams, if it is loaded with the client. Default: it is loaded with the first stream. */
  readonly resumingStream?: ClientParts["resumingStream"];
  /** The parts of a client whose calls are followed, where the platform has telemetry. */
  observe?(parts: ClientParts): ClientParts;
}
