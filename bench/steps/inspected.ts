import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ready } from "../control.ts";
import type { CallFrame, ProfileNode } from "./attribution.ts";

/** A server of the benchmark with Node's inspector. */
export interface InspectedServer extends AsyncDisposable {
  readonly ready: Ready;
  readonly pid: number;
  /** CPU time of the process while `work` runs, in microseconds. */
  cpu(work: () => Promise<void>): Promise<{ readonly user: number; readonly system: number }>;
  /** The call tree of what runs during `work`, in microseconds. */
  profileTime(work: () => Promise<void>): Promise<ProfileNode>;
  /** The call tree of what is allocated during `work`, in bytes, whether it is still alive or not. */
  profileMemory(work: () => Promise<void>): Promise<ProfileNode>;
  /** Timers, promises and other asynchronous resources that are made during `work`, by type. */
  countResources(work: () => Promise<void>): Promise<ReadonlyMap<string, number>>;
}

const samplingMicros = 100;
const samplingBytes = 8 * 1024;

/** Starts a program of `bench/servers/`. */
export async function startInspected(program: string): Promise<InspectedServer> {
  const child = fork(fileURLToPath(new URL(`../servers/${program}`, import.meta.url)), [], {
    execArgv: ["--inspect=127.0.0.1:0", "--expose-gc"],
    env: { ...process.env, NODE_ENV: "production", TRIVIUM_LOG: "silent" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const announced = once(child, "message");
  const session = await Session.open(await inspectorUrl(child));
  const [ready] = (await announced) as [Ready];
  return {
    ready,
    pid: child.pid ?? 0,
    async cpu(work) {
      const usage = "process.cpuUsage()";
      const before = (await session.evaluate(usage)) as NodeJS.CpuUsage;
      await work();
      const after = (await session.evaluate(usage)) as NodeJS.CpuUsage;
      return { user: after.user - before.user, system: after.system - before.system };
    },
    async profileTime(work) {
      await session.ask("Profiler.enable");
      await session.ask("Profiler.setSamplingInterval", { interval: samplingMicros });
      await session.ask("Profiler.start");
      await work();
      const { profile } = await session.ask<{ readonly profile: CpuProfile }>("Profiler.stop");
      return timeTree(profile);
    },
    async profileMemory(work) {
      await session.ask("HeapProfiler.enable");
      await session.ask("HeapProfiler.startSampling", {
        samplingInterval: samplingBytes,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      await work();
      const { profile } = await session.ask<{ readonly profile: { readonly head: HeapNode } }>(
        "HeapProfiler.stopSampling",
      );
      return memoryTree(profile.head);
    },
    async countResources(work) {
      await session.evaluate(startCounting);
      await work();
      const counts = (await session.evaluate(stopCounting)) as Readonly<Record<string, number>>;
      return new Map(Object.entries(counts));
    },
    [Symbol.asyncDispose]: async () => {
      session.close();
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}

const startCounting = `(() => {
  const counts = {};
  const hook = process.getBuiltinModule("node:async_hooks").createHook({
    init: (id, type) => { counts[type] = (counts[type] ?? 0) + 1; },
  });
  globalThis.benchCounting = { counts, hook };
  hook.enable();
})()`;

const stopCounting = `(() => {
  const { counts, hook } = globalThis.benchCounting;
  hook.disable();
  return counts;
})()`;

async function inspectorUrl({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error("the server has no standard error");
  let text = "";
  for await (const piece of stderr.setEncoding("utf8")) {
    text += piece;
    const url = /ws:\/\/\S+/.exec(text)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`no inspector: ${text}`);
}

/** A session of the Chrome DevTools protocol. */
class Session {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #last = 0;

  static async open(url: string): Promise<Session> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Session(socket);
  }

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result, error } = JSON.parse(String(data));
      const answer = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) answer?.resolve(result);
      else answer?.reject(new Error(error.message));
    });
  }

  ask<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answer.promise as Promise<T>;
  }

  /** The value of an expression in the server. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.ask<{ readonly result: { readonly value: unknown } }>("Runtime.evaluate", {
      expression,
      returnByValue: true,
    });
    return result.value;
  }

  close(): void {
    this.#socket.close();
  }
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

function timeTree({ nodes, samples, timeDeltas }: CpuProfile): ProfileNode {
  const self = new Map<number, number>();
  for (const [index, id] of samples.entries()) self.set(id, (self.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const build = (id: number): ProfileNode => {
    const node = byId.get(id);
    if (node === undefined) throw new Error("the profile names a node that it does not have");
    return { frame: node.callFrame, self: self.get(id) ?? 0, children: (node.children ?? []).map(build) };
  };
  return build(nodes[0]?.id ?? 0);
}

interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

function memoryTree({ callFrame, selfSize, children }: HeapNode): ProfileNode {
  return { frame: callFrame, self: selfSize, children: children.map(memoryTree) };
}
