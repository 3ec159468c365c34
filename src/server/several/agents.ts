import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { renameOptions } from "../../protocol/check/former-options.js";
import { assertOptions } from "../../protocol/check/rules.js";
import { type HostedAgent, hostAccess } from "../agent.js";
import type { HostedAgentParts } from "../compose-agent.js";
import type { InProcessAgent } from "../host.js";
import { composeEntry } from "./compose-entry.js";
import type { GrpcPort } from "./listeners.js";
import { keyOf, pathOf } from "./merged-options.js";
import { agentPath, servedRule } from "./option-rules.js";
import type { ServedAgentOptions } from "./options.js";
import type { ServedEntry, SharedParts } from "./shared-parts.js";

/** One of the agents of a server. After it was replaced, its members are those of the new one. */
export interface ServedAgent extends InProcessAgent, HostedAgent {
  /** Its path: `/weather`. */
  readonly path: string;
  /** Its base URL: `http://127.0.0.1:41241/weather`. */
  readonly url: string;
}

/** The agents of a server, while it runs. Iterating gives them in the order in which they were added. */
export interface ServedAgents extends Iterable<ServedAgent> {
  /** The agent at a path. */
  get(path: string): ServedAgent | undefined;
  /**
   * Adds an agent, or replaces the one at the path: its next call is served by the new one, with a card of its own. Turns
   * that run end with the code that they began with, and open streams are kept. Rejects for wrong options, and
   * then changes nothing.
   */
  set(path: string, options: ServedAgentOptions): Promise<ServedAgent>;
  /**
   * Removes an agent: new calls do not find it, and its turns have `drainMs` to end. Default: that of the server. Its tasks
   * wait in the store for an agent with the same `agentId`. Resolves with false when there is none at the path.
   */
  remove(path: string, drainMs?: number): Promise<boolean>;
}

/** How long a port that is closed may still write. */
const lastWordsMs = 2000;

/** Keeps the agents of a server: adds, replaces and removes them, one change of a path after another. */
export class AgentKeeper implements ServedAgents {
  readonly #shared: SharedParts;
  readonly #ports = new Map<string, GrpcPort>();
  /** The last change of each path, which the next one waits for. */
  readonly #changes = new Map<string, Promise<unknown>>();
  /** Agents that drain, by their ids in the store. */
  readonly #departures = new Map<string, Promise<void>>();
  /** Agents that were replaced and still have calls. */
  readonly #releases = new Set<Promise<void>>();
  #isClosed = false;

  constructor(shared: SharedParts) {
    this.#shared = shared;
  }

  *[Symbol.iterator](): Iterator<ServedAgent> {
    for (const { path } of this.#shared.directory.entries) yield this.#view(path);
  }

  get(path: string): ServedAgent | undefined {
    return this.#shared.directory.get(keyOf(path)) && this.#view(keyOf(path));
  }

  set(path: string, options: ServedAgentOptions): Promise<ServedAgent> {
    const problems = agentPath(path, "the path of an agent");
    if (problems.length > 0) return Promise.reject(new TypeError(problems.join("\n")));
    return this.#change(keyOf(path), async () => {
      const entry = `agents.set(${JSON.stringify(path)})`;
      const agentOptions = renameOptions(entry, options);
      assertOptions(entry, agentOptions, servedRule);
      return this.#put(keyOf(path), agentOptions);
    });
  }

  remove(path: string, drainMs = this.#shared.drainMs): Promise<boolean> {
    const key = keyOf(path);
    return this.#change(key, async () => {
      const { directory, logger } = this.#shared;
      const entry = directory.get(key);
      if (entry === undefined) return false;
      directory.delete(key);
      logger.info({ agent: path }, "an agent is removed");
      await this.#leave(entry, drainMs);
      return true;
    });
  }

  #change<T>(key: string, make: () => Promise<T>): Promise<T> {
    const before = this.#changes.get(key) ?? Promise.resolve();
    const change = before.then(() => {
      if (this.#isClosed) throw new TypeError("the server is closed: it takes no more agents");
      return make();
    });
    const completion = change.then(noop, noop).finally(() => {
      if (this.#changes.get(key) === completion) this.#changes.delete(key);
    });
    this.#changes.set(key, completion);
    return change;
  }

  async #put(key: string, options: ServedAgentOptions): Promise<ServedAgent> {
    const { directory, logger, listeners } = this.#shared;
    const before = directory.get(key);
    const portBefore = this.#ports.get(key);
    const departureOf = (agentId: string) => this.#departures.get(agentId);
    const { entry, port } = await composeEntry(this.#shared, {
      path: key,
      agentOptions: options,
      before,
      portBefore,
      departureOf,
    });
    listeners()?.engine?.register(entry.destination.versions);
    port?.serve(entry.destination);
    directory.put(entry);
    if (port === undefined) this.#ports.delete(key);
    else this.#ports.set(key, port);
    if (portBefore !== undefined && portBefore !== port) void closePort(portBefore);
    if (before !== undefined) this.#replace(before, entry);
    if (listeners() !== undefined) {
      logger.info({ agent: pathOf(key) }, before === undefined ? "an agent is added" : "an agent is replaced");
    }
    return this.#view(key);
  }

  #replace(before: ServedEntry, { agent }: ServedEntry): void {
    const { drainMs, logger } = this.#shared;
    const end = before.agent.agentId === agent.agentId ? before.agent.release() : this.#leave(before, drainMs);
    const release = end
      .catch((error: unknown) => logger.error({ err: error }, "an agent that was replaced could not be closed"))
      .finally(() => this.#releases.delete(release));
    this.#releases.add(release);
  }

  /** Ends an agent that no call finds any more. */
  #leave({ path, agent }: ServedEntry, drainMs: number): Promise<void> {
    const isGone = this.#shared.directory.get(path) === undefined;
    const port = isGone ? this.#ports.get(path) : undefined;
    if (isGone) this.#ports.delete(path);
    void port?.retire(0);
    const leave = async (): Promise<void> => {
      agent.admission.close();
      await agent.handler.drain(drainMs);
      await agent.dispose();
      await port?.drain(lastWordsMs);
    };
    const departure = leave().finally(() => this.#departures.delete(agent.agentId));
    this.#departures.set(agent.agentId, departure);
    return departure;
  }

  /** Ends all agents, and the changes under way. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true;
    const { directory, clock, limits } = this.#shared;
    const entries = directory.entries;
    for (const { agent } of entries) agent.admission.close();
    void this.retire(0);
    for (const { agent } of entries) agent.handler.stopNewWork();
    await within(clock, drainMs, allIdle(entries));
    await Promise.all(entries.map(({ agent }) => agent.handler.drain(0)));
    await Promise.all(entries.map(({ agent }) => agent.dispose()));
    await within(clock, limits.graceMs, Promise.all([...this.#releases, ...this.#departures.values()]).then(noop));
    await Promise.all([...this.#ports.values()].map((port) => port.drain(lastWordsMs)));
  }

  /** Ends the connections of the agents' own ports after their last responses. */
  async retire(ms: number): Promise<void> {
    await Promise.all([...this.#ports.values()].map((port) => port.retire(ms)));
  }

  setServing(serving: boolean): void {
    for (const port of this.#ports.values()) port.setServing(serving);
  }

  #view(key: string): ServedAgent {
    const { directory, address, options } = this.#shared;
    const agentOf = (): HostedAgentParts => {
      const entry = directory.get(key);
      if (entry === undefined) throw new TypeError(`the agent at ${pathOf(key)} was removed`);
      return entry.agent;
    };
    return {
      path: pathOf(key),
      get url() {
        return `${address().origin}${options.basePath ?? ""}${key}`;
      },
      get card() {
        return agentOf().card.card();
      },
      inProcess: (callOptions) => agentOf().inProcess(callOptions),
      get tasks() {
        return hostAccess(agentOf()).tasks;
      },
      get conversations() {
        return hostAccess(agentOf()).conversations;
      },
    };
  }
}

/** Resolves when no agent runs a turn: the turn of one may start that of another. */
async function allIdle(entries: readonly ServedEntry[]): Promise<void> {
  const handlers = entries.map(({ agent }) => agent.handler);
  while (handlers.some((handler) => !handler.isIdle)) await Promise.all(handlers.map((handler) => handler.idle()));
}

async function closePort(port: GrpcPort): Promise<void> {
  void port.retire(0);
  await port.drain(lastWordsMs);
}
