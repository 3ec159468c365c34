import type { AddressPolicy } from "../binding/fetch/address-policy.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import type { Transport } from "../binding/transport.js";
import { type Binding, bindings } from "../protocol/bindings.js";
import type { Fetch } from "../protocol/fetch.js";
import type { Version } from "../version/codec.js";
import type { KnownVersions } from "./versions.js";

/** The address of an interface and its protocol version. */
export interface InterfaceAddress {
  /**
   * URL of the interface, as written in the card. If it lists `0.0.0.0` or `[::]` and was read from this machine: the
   * card's host.
   */
  readonly url: string;
  /** As written in the card. */
  readonly version: string;
  /** Whether the version is a guess, because the card does not name it. */
  readonly isGuess?: boolean | undefined;
}

/** Settings that a client passes to its transports. */
export interface TransportSetting {
  /** The client's `fetch`, with its address policy, certificates and time limits. */
  readonly fetch: Fetch;
  /** Headers, or metadata, of every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** Size of a reply, and of one event of a stream, in bytes. */
  readonly replyMaxBytes: number;
  /** Certificates, for bindings that open their own connections. */
  readonly tls: ClientTls | undefined;
  /** Returns whether an interface is called over TLS. gRPC addresses may have no scheme. */
  readonly isSecure: (url: string) => boolean;
  /** Time limit for establishing a connection in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Time between two pings on a gRPC connection with calls under way, in milliseconds. */
  readonly grpcKeepaliveMs: number;
  /** Time for the answer to such a ping in milliseconds. */
  readonly grpcKeepaliveTimeoutMs: number;
  /** Which addresses may be connected to, for bindings that open their own connections. */
  readonly policy: AddressPolicy | undefined;
  /** Called with the path and the kind of a member of an answer that cannot be read and is left out. */
  readonly onLeftOut?: ((path: string, kind: string) => void) | undefined;
}

/** A binding that a client supports: a built-in one, or your own under its URI in cards. */
export interface TransportFactory {
  /** `JSONRPC`, `GRPC`, `HTTP+JSON`, `CONNECT`, or another binding's URI in cards. */
  readonly binding: string;
  /** Protocol versions that it supports. Default: any. */
  readonly versions?: readonly string[] | undefined;
  /** Connects to one interface. Called on first use. */
  create(address: InterfaceAddress, setting: TransportSetting): Transport | Promise<Transport>;
}

/** The client side of a binding for one interface. `undefined` when the version lacks the binding. */
type ClientBinding = (
  version: Version,
  address: InterfaceAddress,
  setting: TransportSetting,
) => Transport | Promise<Transport | undefined> | undefined;

/** The client sides of all bindings, one for each row of the table in `protocol/bindings.ts`. */
export type ClientBindings = Readonly<Record<Binding, ClientBinding>>;

/** All bindings in the versions that have them. */
export function transportsFor(ends: ClientBindings, versions: KnownVersions): readonly TransportFactory[] {
  return bindings.map(({ name, adapter }) => {
    const entries = versions.entries.filter(({ adapters, calledIn }) => adapters.includes(adapter) || calledIn?.[name]);
    return {
      binding: name,
      versions: entries.map((entry) => entry.name),
      async create(address, setting) {
        const calledVersion =
          entries.find((entry) => entry.name === address.version)?.calledIn?.[name] ?? address.version;
        const transport = await ends[name](await versions.load(calledVersion), address, setting);
        if (transport === undefined) throw new TypeError(`version ${calledVersion} lacks the binding ${name}`);
        return transport;
      },
    };
  });
}
