import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { noop } from "../../protocol/async/noop.js";
import type { ReportMigration } from "../sql/migration-report.js";
import { StoreError } from "../sql/store-error.js";
import { type FileWatch, watchFile } from "./file-watch.js";
import { errorFromFault, type ThreadMessage, type ThreadReply, type ThreadRequest } from "./messages.js";
import type { SqliteSettings } from "./settings.js";

// The main thread's end of a database. A request goes to the worker at once and waits in `#requests` for its reply; the thread
// is started by the first request, and again by the next one after it has ended.
//
// Once the database is open, its file is watched. Each heartbeat checks it, and so does a new thread before it opens the file.
// From the moment that the file is found moved, writes are refused for good, and so is everything once the thread has ended.
// A database in memory that has lost its thread also refuses everything.

export interface ThreadOptions {
  readonly settings: SqliteSettings;
  /** Time sent with each request. Default: the thread reads the machine's clock. */
  readonly now?: (() => number) | undefined;
}

interface WaitingRequest {
  readonly report: ReportMigration | undefined;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A database's thread. It starts with the first request, and keeps the process alive only while one is pending. A thread
 * that ends by a fault rejects the requests that wait for it, and the next request starts a new one.
 */
export class DatabaseThread {
  readonly #settings: SqliteSettings;
  readonly #now: (() => number) | undefined;
  readonly #requests = new Map<number, WaitingRequest>();
  #worker: Worker | undefined;
  #lastId = 0;
  #failure: StoreError | undefined;
  #file: FileWatch | undefined;
  #checking: Promise<void> | undefined;
  /** Why no write is possible any more. */
  #moved: StoreError | undefined;

  constructor({ settings, now }: ThreadOptions) {
    this.#settings = settings;
    this.#now = now;
  }

  /** `report`: receives the progress of opening the database. */
  ask(request: ThreadRequest, report?: ReportMigration): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#moved !== undefined && isWrite(request)) return Promise.reject(this.#moved);
    if (this.#file !== undefined) {
      if (this.#worker === undefined) return this.#reopen(this.#file, request);
      if (request.kind === "call" && request.as === "heartbeat") return this.#beat(this.#file, request);
    }
    if (request.kind === "open") return this.#open(request, report);
    return this.#post(request, report);
  }

  /** Opens the database, and watches its file from then on. */
  async #open(request: ThreadRequest, report: ReportMigration | undefined): Promise<unknown> {
    const file = await this.#post(request, report);
    if (typeof file === "string" && file !== "") this.#file ??= await watchFile(this.#settings.path, file);
    return file;
  }

  // The lease does not wait for the file system, whose threads may be busy. The next write reports a later result.
  async #beat(file: FileWatch, request: ThreadRequest): Promise<unknown> {
    void this.#check(file);
    const answer = await this.#post(request);
    if (this.#moved !== undefined) throw this.#moved;
    return answer;
  }

  /** Checks first: a new thread opens the file at the path, and would create a missing one. */
  async #reopen(file: FileWatch, request: ThreadRequest): Promise<unknown> {
    await file.renewLogs();
    await this.#check(file);
    if (this.#moved !== undefined) throw this.#moved;
    const answer = await this.#post(request);
    await file.renewLogs();
    return answer;
  }

  #check(file: FileWatch): Promise<void> {
    this.#checking ??= this.#checkOnce(file).finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #checkOnce(file: FileWatch): Promise<void> {
    const move = await file.check();
    if (move === undefined || this.#moved !== undefined) return;
    this.#moved = move.error;
    // The log is still open here, but lost once the process ends.
    if (move.isLogGone) await this.#post({ kind: "checkpoint" }).catch(noop);
  }

  #post(request: ThreadRequest, report?: ReportMigration): Promise<unknown> {
    if (this.#worker === undefined && mustLoadCode()) return loadCode().then(() => this.#post(request, report));
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const message: ThreadMessage = { id: this.#lastId, now: this.#now?.(), request };
      worker.postMessage(message);
      if (this.#requests.size === 0) worker.ref();
      this.#requests.set(message.id, { report, resolve, reject });
    });
  }

  /** Closes the database and ends the thread. */
  async close(): Promise<void> {
    // The check may ask the thread for a checkpoint.
    await this.#checking;
    const worker = this.#worker;
    if (worker !== undefined) {
      await this.#post({ kind: "close" });
      await worker.terminate();
    }
    await this.#file?.close();
  }

  /** Kills the thread, as a fault would. */
  async terminate(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = startWorker(this.#settings);
    let cause: unknown;
    worker.unref();
    worker.on("message", (reply: ThreadReply) => this.#settle(worker, reply));
    worker.on("messageerror", (error) => {
      cause = error;
      void worker.terminate();
    });
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#abandon(cause);
    });
    return worker;
  }

  #settle(worker: Worker, reply: ThreadReply): void {
    const request = this.#requests.get(reply.id);
    if (reply.progress !== undefined) {
      request?.report?.(reply.progress);
      return;
    }
    this.#requests.delete(reply.id);
    if (this.#requests.size === 0) worker.unref();
    if (reply.fault === undefined) request?.resolve(reply.value);
    else request?.reject(errorFromFault(reply.fault));
  }

  /** Rejects the requests that an ended thread will not answer. */
  #abandon(cause: unknown): void {
    const error = new StoreError("unreachable", "the thread of the database has ended", { cause });
    if (this.#settings.path === ":memory:") {
      const message = "the database was in memory, and has gone with its thread";
      this.#failure = new StoreError("unreachable", message, { cause });
    }
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    for (const { reject } of requests) reject(error);
  }
}

function isWrite(request: ThreadRequest): boolean {
  return request.kind === "group" || (request.kind === "call" && request.as !== undefined);
}

/**
 * Without the process's own options, such as loaders and inspectors: the thread only runs the database. Node 22 would
 * warn there that SQLite is experimental.
 */
const options = { name: "trivium-sqlite", execArgv: ["--disable-warning=ExperimentalWarning"] };

/** Where this module is. A bundle has it in a file of any name, and in a CommonJS bundle it has no URL. */
const ownUrl = String(import.meta.url);

/** The file of the thread beside this one; `undefined` in a bundle, which does not include it. */
const workerUrl = ownUrl.endsWith("/store/sqlite/thread.js") ? new URL("./worker.js", ownUrl) : undefined;
const isSource = ownUrl.endsWith("/store/sqlite/thread.ts");

/** The code of the thread, once a bundle needs it. */
let code: string | undefined;

/** Whether the thread has no file, and its code must be loaded. Some bundlers keep the URL and leave out the file. */
function mustLoadCode(): boolean {
  return code === undefined && !isSource && !(workerUrl !== undefined && existsSync(workerUrl));
}

async function loadCode(): Promise<void> {
  code = (await import("./worker-code.js")).workerCode;
}

function startWorker(settings: SqliteSettings): Worker {
  if (isSource) return startFromSource(settings);
  if (code !== undefined) return new Worker(code, { ...options, workerData: settings, eval: true });
  return new Worker(workerUrl ?? ownUrl, { ...options, workerData: settings });
}

/**
 * In a checkout Node runs the sources directly; an import under its compiled name resolves to the source next to it.
 */
function startFromSource(settings: SqliteSettings): Worker {
  const worker = JSON.stringify(new URL("./worker.ts", ownUrl).href);
  const code = `require("node:module").registerHooks({
    resolve: (specifier, context, next) =>
      next(/^\\.{1,2}\\/.*\\.js$/.test(specifier) && /\\.ts$/.test(context.parentURL)
        ? specifier.replace(/\\.js$/, ".ts") : specifier, context),
  });
  import(${worker});`;
  return new Worker(code, { ...options, workerData: settings, eval: true });
}
