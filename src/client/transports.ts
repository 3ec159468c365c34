import type { AddressPolicy } from "../binding/address-policy.js";
import type { ClientTls } from "../binding/client-tls.js";
import { createHttpJsonTransport } from "../binding/http-json/client.js";
import { createJsonRpcTransport } from "../binding/json-rpc/client.js";
import type { Transport } from "../binding/transport.js";
import { bindingTable } from "../card/mounts.js";
import type { Fetch } from "../protocol/fetch.js";
import type { Version } from "../version/codec.js";

/** Where an interface is, and in which version it is spoken to. */
export interface InterfaceAddress {
  readonly url: string;
  /** As the card writes it. */
  readonly version: string;
}

/** What a client lends to its transports. */
export interface TransportSetting {
  readonly fetch: Fetch;
  /** Headers, or metadata, of every call. */
  readonly headers: Readonly<Record<string, string>>;
  readonly replyMaxBytes: number;
  /** Certificates, for bindings that open their own connections. */
  readonly tls: ClientTls | undefined;
  /** Whether an interface is called over TLS; gRPC's addresses need not say. */
  readonly isSecure: (url: string) => boolean;
  readonly connectTimeoutMs: number;
  /** Which addresses may be connected to, for bindings that open their own connections. */
  readonly policy: AddressPolicy | undefined;
}

/** A binding that a client knows: one of ours, or a user's own under the URI that cards call it by. */
export interface TransportFactory {
  /** As cards name the binding. */
  readonly binding: string;
  /** Versions that it can speak. Default: any. */
  readonly versions?: readonly string[] | undefined;
  /** Makes the client end for one interface; called when it is first needed. */
  create(address: InterfaceAddress, setting: TransportSetting): Transport | Promise<Transport>;
}

/** The bindings that need nothing but `fetch`, in these versions. */
export function webTransports(versions: readonly Version[]): readonly TransportFactory[] {
  return [
    {
      binding: bindingTable["json-rpc"].wire,
      ...faces(versions, ({ jsonRpc }) => jsonRpc),
      create: ({ url, version }, setting) =>
        createJsonRpcTransport({ ...setting, url, face: faceOf(versions, version, ({ jsonRpc }) => jsonRpc) }),
    },
    {
      binding: bindingTable["http-json"].wire,
      ...faces(versions, ({ httpJson }) => httpJson),
      create: ({ url, version }, setting) =>
        createHttpJsonTransport({ ...setting, url, face: faceOf(versions, version, ({ httpJson }) => httpJson) }),
    },
    {
      binding: bindingTable.connect.wire,
      ...faces(versions, ({ grpc }) => grpc),
      create: async ({ url, version }, setting) => {
        const { createConnectTransport } = await import("../binding/connect/client.js");
        return createConnectTransport({ ...setting, url, face: faceOf(versions, version, ({ grpc }) => grpc) });
      },
    },
  ];
}

/** The version that an interface is spoken to in: that of the card, whatever its patch number. */
export function faceOf<F>(versions: readonly Version[], wanted: string, pick: (version: Version) => F | undefined): F {
  const version = versions.find(({ name }) => name === wanted);
  const face = version === undefined ? undefined : pick(version);
  if (face === undefined) throw new TypeError(`version ${wanted} lacks the binding`);
  return face;
}

/** The names of the versions that have a binding. */
export function faces<F>(
  versions: readonly Version[],
  pick: (version: Version) => F | undefined,
): { readonly versions: readonly string[] } {
  return { versions: versions.filter((version) => pick(version) !== undefined).map(({ name }) => name) };
}
