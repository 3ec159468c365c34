import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { exitOf, owned } from "../support/owned.js";
import type { BindingName } from "./cases.js";
import { type Sdk, sdks } from "./sdk.js";

// The official SDKs as callers that go on calling.

const programs: Readonly<Record<string, string>> = {
  JavaScript: "js/load.mjs",
  Python: "python/load.py",
  Go: "go/bin/load",
};

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Whether each SDK and its program are there. Required in CI. */
export function hasSdks(): boolean {
  const isMissing = ({ name, installed }: Sdk): boolean => !installed || !existsSync(path(programs[name] ?? ""));
  const missing = sdks.filter(isMissing).map(({ name }) => name);
  if (missing.length === 0) return true;
  const line = `no SDK for ${missing.join(", ")}: tests are skipped (test/interop/setup.sh)`;
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
  return false;
}

/** An agent that is called. */
interface LoadTarget {
  readonly name: string;
  readonly url: string;
  readonly binding: BindingName;
}

/** One call, as its caller reports it. */
export interface LoadCall {
  /** The target's. */
  readonly name: string;
  readonly sdk: string;
  readonly call: "send" | "stream";
  /** The message's. */
  readonly id: string;
  readonly text?: string | undefined;
  readonly error?: string | undefined;
}

export interface LoadOptions {
  readonly targets: readonly LoadTarget[];
  /** The texts to send, by call. */
  readonly texts: Readonly<Record<LoadCall["call"], string>>;
  /** The certificate to trust, a file. */
  readonly certificate: string;
}

export interface Load {
  readonly calls: readonly LoadCall[];
  /** Resolves once each caller has had so many more answers or errors. Rejects when a program ends. */
  until(more: number): Promise<void>;
  /** Resolves when all calls have ended. */
  stop(): Promise<void>;
}

type LoadProgram = ChildProcessByStdio<Writable, Readable, Readable>;

/** Calls every target with every SDK. */
export function startLoad({ targets, texts, certificate }: LoadOptions): Load {
  const calls: LoadCall[] = [];
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  const keyOf = ({ sdk, name, call }: Pick<LoadCall, "sdk" | "name" | "call">): string => `${sdk} ${name} ${call}`;
  for (const sdk of sdks)
    for (const { name } of targets)
      for (const call of ["send", "stream"] as const) counts.set(keyOf({ sdk: sdk.name, name, call }), 0);
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  let isOver = false;
  const start = (sdk: Sdk): LoadProgram => {
    const program = run(sdk, { targets, texts, certificate });
    createInterface({ input: program.stdout }).on("line", (text) => {
      const call = { sdk: sdk.name, ...(JSON.parse(text) as Omit<LoadCall, "sdk">) };
      calls.push(call);
      counts.set(keyOf(call), (counts.get(keyOf(call)) ?? 0) + 1);
      for (const check of waiting) check();
    });
    let complaints = "";
    program.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints = `${complaints}${text}`.slice(-4000);
    });
    program.once("close", (code) => {
      if (!isOver || code !== 0)
        ended.reject(new Error(`the callers of ${sdk.name} ended with ${code}: ${complaints}`));
    });
    return program;
  };
  const running = sdks.map(start);
  return {
    calls,
    until(more) {
      const before = new Map(counts);
      const reached = new Promise<void>((resolve) => {
        const check = (): void => {
          if (![...counts].every(([key, count]) => count - (before.get(key) ?? 0) >= more)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
      return Promise.race([reached, ended.promise]);
    },
    async stop() {
      isOver = true;
      for (const { stdin } of running) stdin.end();
      await Promise.race([Promise.all(running.map(exitOf)), ended.promise]);
    },
  };
}

function run({ name, command, program }: Sdk, { targets, texts, certificate }: LoadOptions): LoadProgram {
  const load = programs[name];
  if (load === undefined) throw new TypeError(`${name} has no program that goes on calling`);
  // Each SDK reads of its trusted certificates in a variable of its own.
  const trust = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"];
  const env = { ...process.env, ...Object.fromEntries(trust.map((variable) => [variable, certificate])) };
  const file = program.length === 0 ? [] : [path(load)];
  const args = [...file, JSON.stringify(targets), texts.send, texts.stream];
  return owned(spawn(program.length === 0 ? path(load) : command, args, { env, stdio: ["pipe", "pipe", "pipe"] }));
}
