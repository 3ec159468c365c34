/** Members of a `Version` that hold its adapters. Bindings may share one. */
export type AdapterKind = "jsonRpc" | "httpJson" | "grpc";

/**
 * One binding: a way in which clients and agents talk. What answers its calls is in `server/bindings.ts`, what makes them in
 * `client/bindings.ts`.
 */
interface BindingRow {
  /** What options, logs and the command line call it. */
  readonly name: string;
  /** What cards call it: the protocol's name, or a URI for a binding that the protocol does not define (spec 5.8). */
  readonly wire: string;
  /** Further words for it in cards of agents in the field, in capitals and without separators. */
  readonly alsoListedAs?: readonly string[];
  /** Path below the base of the agent. `""`: at the base itself, or none. */
  readonly path: string;
  /** What cards give as its address. */
  readonly address: "url" | "authority";
  /** A version without this adapter lacks the binding. */
  readonly adapter: AdapterKind;
  /** One of the protocol's own. Those are served unless options name others, and no two of them share an address. */
  readonly isCore: boolean;
  /** Events of streams have ids by themselves; elsewhere the resume extension adds them. */
  readonly hasEventIds: boolean;
}

/** Every binding, in the order in which agents list them by default. */
export const bindings = [
  {
    name: "JSONRPC",
    wire: "JSONRPC",
    path: "/json-rpc",
    address: "url",
    adapter: "jsonRpc",
    isCore: true,
    hasEventIds: true,
  },
  { name: "GRPC", wire: "GRPC", path: "", address: "authority", adapter: "grpc", isCore: true, hasEventIds: false },
  {
    name: "HTTP+JSON",
    wire: "HTTP+JSON",
    alsoListedAs: ["REST"],
    path: "/http-json",
    address: "url",
    adapter: "httpJson",
    isCore: true,
    hasEventIds: true,
  },
  {
    name: "CONNECT",
    wire: "urn:trivium:binding:connect:v1",
    path: "",
    address: "url",
    adapter: "grpc",
    isCore: false,
    hasEventIds: false,
  },
] as const satisfies readonly BindingRow[];

/**
 * A binding by its name: the protocol's three (spec 5, 9 to 11), and `"CONNECT"` for the two browser forms of gRPC,
 * Connect and gRPC-Web.
 */
export type Binding = (typeof bindings)[number]["name"];

/** Every name, in the order of the table. */
export const bindingNames: readonly Binding[] = bindings.map(({ name }) => name);

const byName: ReadonlyMap<string, BindingRow> = new Map(bindings.map((row) => [row.name, row]));

/** The row of a binding. */
export function bindingRow(name: Binding): BindingRow {
  const row = byName.get(name);
  if (row === undefined) throw new TypeError(unknownBinding(name));
  return row;
}

/** What is wrong with a name that is none of the table. */
export function unknownBinding(name: unknown): string {
  return `${JSON.stringify(name)} is none of ${bindingNames.join(", ")}`;
}

const byWord: ReadonlyMap<string, BindingRow> = new Map(
  bindings.flatMap((row: BindingRow) => [row.wire, ...(row.alsoListedAs ?? [])].map((word) => [plain(word), row])),
);

/**
 * The row of the binding that a card lists under this word: in any case and with any separator, as agents in the field
 * write the names. `undefined` for a binding that is not in the table.
 */
function listedBinding(word: string): BindingRow | undefined {
  return byWord.get(plain(word));
}

/** The name of the binding that a card lists under this word. A word for another binding stays as it is. */
export function bindingNamed(word: string): string {
  return listedBinding(word)?.name ?? word;
}

/** What the protocol calls the binding that a card lists under this word. A word for another binding stays as it is. */
export function wireName(word: string): string {
  return listedBinding(word)?.wire ?? word;
}

/** Whether a binding is reached at a host and a port, not at a URL. */
export function isAuthority(word: string): boolean {
  return listedBinding(word)?.address === "authority";
}

/** Whether the events of streams have ids over a binding, as server-sent events do. */
export function hasEventIds(word: string): boolean {
  return listedBinding(word)?.hasEventIds === true;
}

function plain(word: string): string {
  return word.replace(/[-_+/ ]/g, "").toUpperCase();
}
