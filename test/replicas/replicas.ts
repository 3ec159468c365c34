import type { Clock, Server, Store, TaskStore } from "trivium";
import { serve } from "trivium";
import { inProcessSignals } from "../../src/signals/in-process.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { emptyTables } from "../support/empty-tables.js";
import type { ToServe } from "../support/serving.js";
import { newDatabase, query } from "./database.js";
import { type RoundRobin, roundRobin } from "./round-robin.js";

/** How many servers share a database. */
export const replicaCount = 3;

/** Several servers that share only a database, behind one port. */
export interface Replicas extends Server {
  readonly servers: readonly Server[];
  readonly proxy: RoundRobin;
}

/** A clock that tests advance would overtake a heartbeat, or any call, on its way to the database. */
const unhurried = { heartbeatMs: 3_600_000, instanceTtlMs: 36_000_000, storeWaitMs: 3_600_000 };

export interface ReplicaOptions extends ToServe {
  /** Whether the servers publish hints to each other. Default: true. */
  readonly hints?: boolean | undefined;
}

/** Serves an agent several times, each with its own store on one database, behind a proxy. */
export async function serveReplicas(toServe: ReplicaOptions): Promise<Replicas> {
  const { storeAround = (store: TaskStore) => store, hints = true, ...options } = toServe;
  if (options.store !== undefined) throw new TypeError("the case brings a store of its own");
  const group = await takeStores({ clock: options.clock, hints });
  const limits = options.clock === undefined ? options.limits : { ...unhurried, ...options.limits };
  const servers: Server[] = [];
  for (const store of group.stores) {
    // Keeps servers in one process from hearing each other in memory, as separate processes would not.
    const signals = hints ? undefined : inProcessSignals();
    servers.push(await serve({ ...options, signals, limits, port: 0, store: storeAround(store) }));
  }
  const proxy = await roundRobin(servers.map(({ port }) => port));
  const [first] = servers;
  if (first === undefined) throw new TypeError("there are no replicas");
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
    await proxy[Symbol.asyncDispose]();
    await group.giveBack();
  };
  const close = (): Promise<void> => {
    closing ??= end();
    return closing;
  };
  return {
    servers,
    proxy,
    url: first.url.replace(`:${first.port}`, `:${proxy.port}`),
    port: proxy.port,
    grpcPort: proxy.port,
    get card() {
      return behind(first, proxy);
    },
    inProcess: first.inProcess,
    close,
    [Symbol.asyncDispose]: close,
  };
}

// A fetched card shows the host that was asked; the `card` member shows the server itself.
function behind({ card, port }: Server, proxy: RoundRobin): Server["card"] {
  const supportedInterfaces = card.supportedInterfaces.map((each) => ({
    ...each,
    url: each.url.replace(`:${port}`, `:${proxy.port}`),
  }));
  return { ...card, supportedInterfaces };
}

/** Stores on one database that nothing else uses. */
interface StoreGroup {
  readonly stores: readonly Store[];
  giveBack(): Promise<void>;
}

interface StoresWanted {
  readonly clock?: Clock | undefined;
  readonly hints: boolean;
}

const free: { readonly url: string; readonly stores: readonly Store[] }[] = [];

/** Databases are emptied and reused, since creating them costs more than most cases. */
async function takeStores(wanted: StoresWanted): Promise<StoreGroup> {
  const database = free.pop();
  const url = database?.url ?? (await newDatabase());
  const usual = database?.stores ?? (await openStores(url, { hints: true }));
  const stores = wanted.hints && wanted.clock === undefined ? usual : await openStores(url, wanted);
  return {
    stores,
    async giveBack() {
      if (stores !== usual) await closeAll(stores);
      await query(url, emptyTables);
      free.push({ url, stores: usual });
    },
  };
}

async function openStores(url: string, { clock, hints }: StoresWanted): Promise<readonly Store[]> {
  const stores = Array.from({ length: replicaCount }, () => postgresStore({ url, clock, hints, pool: { max: 3 } }));
  await Promise.all(stores.map((store) => store.open?.()));
  if (hints) await untilHeard(stores);
  return stores;
}

// A hint published before the others listen is lost, and a stopped clock triggers no poll.
async function untilHeard(stores: readonly Store[]): Promise<void> {
  const all = Promise.withResolvers<void>();
  const signalKeys = new Set<string>();
  const leave = stores.map(({ signals }, at) =>
    signals?.subscribe(({ taskId }) => {
      if (signalKeys.add(`${at} ${taskId}`).size === stores.length ** 2) all.resolve();
    }),
  );
  const tell = (): void => {
    for (const [at, { signals }] of stores.entries()) signals?.publish({ kind: "moved", taskId: `from ${at}` });
  };
  tell();
  const again = setInterval(tell, 10);
  await all.promise;
  clearInterval(again);
  for (const each of leave) each?.();
}

function closeAll(stores: readonly Store[]): Promise<unknown> {
  return Promise.all(stores.map((store) => store.close()));
}

/** Closes the stores of the databases kept for reuse. */
export async function closeFree(): Promise<void> {
  await Promise.all(free.splice(0).map(({ stores }) => closeAll(stores)));
}
