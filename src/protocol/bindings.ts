// The table of bindings. The ends of each row are in `server/bindings.ts` and `client/bindings.ts`, apart so that a
// browser loads no server. Endpoints, listeners, transports, the card, telemetry and the command line loop over the
// table.
//
// A new binding over HTTP that carries one of the existing wire forms (`AdapterKind`) is a folder in `binding/` and
// four rows: here, one for each end (the end of Node alone is in `client/node-client.ts`: gRPC), and one in
// `test/support/wires.ts`, so that every end-to-end case runs over it. The compiler asks for the other three. Further:
//
// - A wire form of its own is a new `AdapterKind`, with the interface of its adapter in `version/codec.ts`, an adapter
//   in each version, and its name in `version/versions.ts`.
// - A client over `fetch` whose transport does not send the time limit is wrapped in `client/node-client.ts`.
// - A binding with connections of its own is an `engine`; a port has room for one, and today that is gRPC.

/** Members of a `Version` with its adapters. Bindings may share one. */
export type AdapterKind = "jsonRpc" | "httpJson" | "grpc";

/**
 * One binding between clients and agents. Its server side is in `server/bindings.ts`, its client side in
 * `client/bindings.ts`.
 */
interface BindingRow {
  /** The name in options, logs and the command line. */
  readonly name: string;
  /** The name in cards: the protocol's name, or a URI for a binding outside the protocol (spec 5.8). */
  readonly wire: string;
  /** Other names in the cards of real agents, upper-case and without separators. */
  readonly alsoListedAs?: readonly string[];
  /** Path below the agent's base. `""`: the base itself, or none. */
  readonly path: string;
  /** The form of its address in cards. */
  readonly address: "url" | "authority";
  /** A version without this adapter lacks the binding. */
  readonly adapter: AdapterKind;
  /** Whether the protocol defines it. Such bindings are served by default, and no two of them share an address. */
  readonly isCore: boolean;
  /** Whether its streams carry event ids natively; elsewhere the resume extension adds them. */
  readonly hasEventIds: boolean;
  /** Its name as a remote procedure call system in telemetry. The conventions have none for `http_json`. */
  readonly rpcSystem: string;
}

/** Every binding, in the default order of a card. */
export const bindings = [
  {
    name: "JSONRPC",
    wire: "JSONRPC",
    path: "/json-rpc",
    address: "url",
    adapter: "jsonRpc",
    isCore: true,
    hasEventIds: true,
    rpcSystem: "jsonrpc",
  },
  {
    name: "GRPC",
    wire: "GRPC",
    path: "",
    address: "authority",
    adapter: "grpc",
    isCore: true,
    hasEventIds: false,
    rpcSystem: "grpc",
  },
  {
    name: "HTTP+JSON",
    wire: "HTTP+JSON",
    alsoListedAs: ["REST"],
    path: "/http-json",
    address: "url",
    adapter: "httpJson",
    isCore: true,
    hasEventIds: true,
    rpcSystem: "http_json",
  },
  {
    name: "CONNECT",
    wire: "urn:trivium:binding:connect:v1",
    path: "",
    address: "url",
    adapter: "grpc",
    isCore: false,
    hasEventIds: false,
    rpcSystem: "connectrpc",
  },
] as const satisfies readonly BindingRow[];

/**
 * A binding's name: the protocol's `"JSONRPC"`, `"GRPC"` and `"HTTP+JSON"` (spec 5, 9 to 11), and `"CONNECT"` for the two
 * browser forms of gRPC, Connect and gRPC-Web.
 */
export type Binding = (typeof bindings)[number]["name"];

/** Every name, in the order of the table. */
export const bindingNames: readonly Binding[] = bindings.map(({ name }) => name);

const byName: ReadonlyMap<string, BindingRow> = new Map(bindings.map((row) => [row.name, row]));

/** The row of a binding. */
export function bindingRow(name: Binding): BindingRow {
  const row = byName.get(name);
  if (row === undefined) throw new TypeError(`${JSON.stringify(name)} is not one of ${bindingNames.join(", ")}`);
  return row;
}

const byWord: ReadonlyMap<string, BindingRow> = new Map(
  bindings.flatMap((row: BindingRow) => [row.wire, ...(row.alsoListedAs ?? [])].map((word) => [plain(word), row])),
);

/**
 * The row of the binding with this name in a card, in any case and with any separators, as real agents write it.
 * `undefined` for a binding that is not in the table.
 */
function findBinding(word: string): BindingRow | undefined {
  return byWord.get(plain(word));
}

/** The binding's name for its name in a card. Unknown names are returned unchanged. */
export function toBindingName(word: string): string {
  return findBinding(word)?.name ?? word;
}

/** The protocol's name for a binding's name in a card. Unknown names are returned unchanged. */
export function wireName(word: string): string {
  return findBinding(word)?.wire ?? word;
}

/** Whether a binding's address is a host and a port instead of a URL. */
export function isAuthority(word: string): boolean {
  return findBinding(word)?.address === "authority";
}

/** Whether a binding's streams carry event ids, as server-sent events do. */
export function hasEventIds(word: string): boolean {
  return findBinding(word)?.hasEventIds === true;
}

function plain(word: string): string {
  return word.replace(/[-_+/ ]/g, "").toUpperCase();
}

/** The binding of clients in the process of their agent, as a card would name it. */
export const inProcessBinding = "urn:trivium:binding:in-process:v1";
