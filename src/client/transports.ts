import type { AddressPolicy } from "../binding/fetch/address-policy.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import { createHttpJsonTransport } from "../binding/http-json/client.js";
import { createJsonRpcTransport } from "../binding/json-rpc/client.js";
import type { Transport } from "../binding/transport.js";
import { bindingTable } from "../card/mounts.js";
import type { Binding } from "../protocol/context.js";
import type { Fetch } from "../protocol/fetch.js";
import type { GrpcAdapter, Version } from "../version/codec.js";
import type { KnownVersions } from "./versions.js";

/** Where an interface is, and in which version it is spoken to. */
export interface InterfaceAddress {
  readonly url: string;
  /** As the card writes it. */
  readonly version: string;
  /** The card leaves open whether the agent speaks this version. */
  readonly isGuess?: boolean | undefined;
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

/** The bindings that need nothing but `fetch`, in the versions that have them. */
export function webTransports(versions: KnownVersions): readonly TransportFactory[] {
  return [
    {
      ...named(versions, "json-rpc"),
      create: async ({ url, version, isGuess }, setting) => {
        const adapter = await adapterOf(versions, version, ({ jsonRpc }) => jsonRpc);
        return createJsonRpcTransport({ ...setting, url, adapter, isGuess });
      },
    },
    {
      ...named(versions, "http-json"),
      create: async ({ url, version }, setting) =>
        createHttpJsonTransport({
          ...setting,
          url,
          adapter: await adapterOf(versions, version, ({ httpJson }) => httpJson),
        }),
    },
    {
      ...named(versions, "connect"),
      create: async ({ url, version }, setting) => {
        const [{ createConnectTransport }, adapter] = await Promise.all([
          import("../binding/connect/client.js"),
          adapterOf(versions, version, ({ grpc }) => grpc),
        ]);
        return createConnectTransport({ ...setting, url, adapter });
      },
    },
  ];
}

/** A binding as cards name it, and the versions that have it. */
export function named(
  { entries }: KnownVersions,
  binding: Binding,
): Required<Pick<TransportFactory, "binding" | "versions">> {
  const having = entries.filter(({ bindings, calledIn }) => bindings.includes(binding) || calledIn?.[binding]);
  return { binding: bindingTable[binding].wire, versions: having.map(({ name }) => name) };
}

/** How gRPC looks at an agent of a version, which may have it in the form of another one. */
export function grpcAdapterOf(versions: KnownVersions, version: string): Promise<GrpcAdapter> {
  const entry = versions.entries.find(({ name }) => name === version);
  return adapterOf(versions, entry?.calledIn?.grpc ?? version, ({ grpc }) => grpc);
}

/** How a version looks over a binding. */
async function adapterOf<F>(
  versions: KnownVersions,
  wanted: string,
  pick: (version: Version) => F | undefined,
): Promise<F> {
  const adapter = pick(await versions.load(wanted));
  if (adapter === undefined) throw new TypeError(`version ${wanted} lacks the binding`);
  return adapter;
}
