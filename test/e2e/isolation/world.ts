import { type DescMessage, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  type Agent,
  artifact,
  completed,
  inputRequired,
  memoryTaskStore,
  reply,
  type Store,
  serve,
  working,
} from "trivium";
import type { CallOptions } from "../../../src/protocol/context.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { idempotentSendExtension, resumeExtension } from "../../../src/protocol/extensions.js";
import { StreamResponseSchema } from "../../../src/protocol/model.js";
import {
  invokeStream,
  invokeUnary,
  type Operation,
  type Operations,
  type StreamItem,
} from "../../../src/protocol/operations.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { bareTransport } from "../../support/serve-agent.js";
import { callHeader, tapHttp, tapHttp2, type WireTap } from "../../support/wire-tap.js";
import { type Wire, wireRow } from "../../support/wires.js";

/** A caller: a principal of one agent. */
export interface Who {
  readonly agent: "a" | "b";
  /** `owner@tenant`, or the owner alone. */
  readonly name: string;
  /** A word that its messages have and nothing else. */
  readonly mark: string;
}

/** Whose things are to stay hidden. */
export const victim: Who = { agent: "a", name: "alice@north", mark: "by-victim" };

/** Who must not find them. */
export const strangers: readonly Who[] = [
  { agent: "a", name: "bob@north", mark: "by-another-owner" },
  { agent: "a", name: "alice@south", mark: "by-another-tenant" },
  { agent: "a", name: "alice", mark: "by-no-tenant" },
  { agent: "b", name: "alice@north", mark: "by-another-agent" },
];

export interface Call {
  readonly operation: Operation;
  /** In ProtoJSON. */
  readonly request: JsonObject;
  readonly after?: string | undefined;
  readonly over?: Wire | undefined;
}

/** What a caller has of a call. */
export interface Outcome {
  /** Everything that came over the wire and everything that the client made of it; ids, times and places are left out. */
  readonly text: string;
  /** The replies, or the events of the stream, in JSON; empty after an error. */
  readonly replies: readonly JsonObject[];
  /** The ids of its events. */
  readonly eventIds: readonly string[];
  readonly error: A2AError | undefined;
}

/** Two agents on one store, each behind one wire. */
export interface World extends AsyncDisposable {
  call(who: Who, call: Call): Promise<Outcome>;
  /** Shows these ids by these names, and any other by its order. */
  label(names: ReadonlyMap<string, string>): void;
}

/** Tells what it sees. `done`, `ask`, `reply` and `run` say how a turn goes on; `run` never ends by itself. */
const agent: Agent = async function* (turn) {
  const { text, context, contextId: _, message, task, attempt, cause, tenant, principal } = turn;
  const view = {
    ...{ text, attempt, cause, tenant, principal, state: task?.status?.state, named: message.referenceTaskIds.length },
    artifacts: task?.artifacts.length,
    history: (await turn.history()).flatMap(({ parts }) => parts.map(({ content }) => content.value)),
    conversation: (await turn.conversation()).map((entry) => entry.text),
    context: (await context.get("said")) ?? null,
    references: (await turn.references()).map(({ history }) => history.length),
  };
  await context.update("said", (old) => [...(Array.isArray(old) ? old : []), text]);
  const [kind] = text.split(" ");
  if (kind === "reply") return yield reply(JSON.stringify(view));
  yield artifact(JSON.stringify(view));
  if (kind === "ask") return yield inputRequired("more?");
  if (kind !== "run") return yield completed();
  yield working();
  await new Promise((_, reject) => turn.signal.addEventListener("abort", () => reject(turn.signal.reason)));
};

const card = {
  name: "Tested",
  description: "Does what the test says",
  version: "1.0.0",
  extended: ({ owner, tenant = "none" }: { readonly owner: string; readonly tenant?: string | undefined }) => ({
    skills: [{ id: "own", name: "Own", description: `Only for ${owner} of ${tenant}`, tags: [] }],
  }),
};

/** Starts both agents on a store, which it closes. */
export async function startWorld(wire: Wire, store: Store = memoryTaskStore()): Promise<World> {
  const ends: (() => unknown)[] = [() => store.close()];
  let calls = 0;
  let labels: ReadonlyMap<string, string> = new Map();
  const ids = new Map<string, Map<string, string>>();
  const start = async (agentId: string) => {
    const { logger } = recordingLogger();
    const server = await serve({
      ...{ card, agent, agentId, store, logger, port: 0, drainMs: 0, tenants: ["north", "south"] },
      push: { allow: "loopback" },
      authenticate({ header }) {
        const [owner = "", tenant] = (header("authorization") ?? "").split("@");
        return tenant === undefined ? { owner } : { owner, tenant };
      },
      limits: { graceMs: 0 },
    });
    ends.push(() => server.close());
    const transports = new Map<
      Wire,
      { readonly operations: Operations<CallOptions>; readonly tap: WireTap | undefined }
    >();
    return async (over: Wire) => {
      const cachedTransport = transports.get(over);
      if (cachedTransport !== undefined) return cachedTransport;
      const { binding } = wireRow(over);
      const tap =
        binding === "in-process"
          ? undefined
          : await (binding === "GRPC" ? tapHttp2(server.grpcPort) : tapHttp(server.port));
      if (tap !== undefined) ends.push(() => tap[Symbol.asyncDispose]());
      const place = tap === undefined ? server : { ...server, url: `http://127.0.0.1:${tap.port}`, grpcPort: tap.port };
      const operations = await bareTransport(over, place);
      ends.push(() => operations.close?.());
      const transport = { operations, tap };
      transports.set(over, transport);
      return transport;
    };
  };
  const idsOf = ({ mark }: Who): Map<string, string> => {
    const ownIds = ids.get(mark) ?? new Map();
    ids.set(mark, ownIds);
    return ownIds;
  };
  const agents = { a: await start("a"), b: await start("b") };
  return {
    async call(who, { operation, request, after, over = wire }) {
      const { operations, tap } = await agents[who.agent](over);
      const serial = String(++calls);
      const options = {
        headers: { authorization: who.name, [callHeader]: serial },
        extensions: [idempotentSendExtension, resumeExtension],
        ...(after !== undefined && { after }),
      };
      const outcome = await outcomeOf(operations, { operation, request, options });
      const exchanges = outcome.isLeft ? [] : (tap?.take(serial) ?? []);
      // A client of 0.1 asks for the task beside its stream.
      const shown = over === "JSONRPC 0.1" && operation.streams ? exchanges.filter(isStream) : exchanges;
      return { ...outcome, text: leveled([...shown, outcome.text].join("\n\n"), idsOf(who), labels) };
    },
    label(names) {
      labels = names;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends.toReversed()) await end();
    },
  };
}

const isStream = (answer: string): boolean => answer.includes("content-type: text/event-stream");

interface Made extends Outcome {
  readonly isLeft: boolean;
}

async function outcomeOf(
  calls: Operations<CallOptions>,
  {
    operation,
    request,
    options,
  }: { readonly operation: Operation; readonly request: JsonObject; readonly options: CallOptions },
): Promise<Made> {
  const message = fromJson(operation.input, request);
  const output: DescMessage = operation.output;
  const replies: JsonObject[] = [];
  const eventIds: string[] = [];
  let isLeft = false;
  try {
    if (operation.streams) {
      for await (const item of invokeStream(calls, operation, message, options)) {
        replies.push(toJson(StreamResponseSchema, item.response) as JsonObject);
        if (item.id !== undefined) eventIds.push(item.id);
        isLeft = operation.name === "subscribeToTask" && mayLast(item);
        if (isLeft) break;
      }
    } else replies.push(toJson(output, await invokeUnary(calls, operation, message, options)) as JsonObject);
    return { text: JSON.stringify(replies, undefined, 1), replies, eventIds, error: undefined, isLeft };
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    const { code, message: words, metadata, violations, retryAfterMs, challenge } = error;
    const text = JSON.stringify({ replies, code, words, metadata, violations, retryAfterMs, challenge }, undefined, 1);
    return { text, replies: [], eventIds, error, isLeft };
  }
}

function mayLast({ response: { payload } }: StreamItem): boolean {
  if (payload.case !== "task" && payload.case !== "statusUpdate") return payload.case !== "message";
  return !isTerminal(payload.value.status?.state ?? 0);
}

/** Replaces what differs between two worlds in any case: ids by their order, times, cursors and places. */
function leveled(text: string, ids: Map<string, string>, labels: ReadonlyMap<string, string>): string {
  return text
    .replaceAll(/^(grpc-status-details-bin: )(.*)$/gm, (_, name, value) => name + latin1Of(value))
    .replaceAll(/("value":")([\w+/-]+)"/g, (_, name, value) => name + latin1Of(value))
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|anonymous-[0-9a-f]{16}/g, (id) => {
      const shown = labels.get(id) ?? ids.get(id) ?? `ID-${ids.size}`;
      if (!labels.has(id)) ids.set(id, shown);
      return shown;
    })
    .replaceAll(/(ID-\d+)\.[^.\s"]+\.([0-9a-z]+)/g, "$1.INCARNATION.$2")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/("jsonrpc":"2.0","id":)\d+/g, "$1N")
    .replaceAll(/^(date|x-request-id|content-length): .*$/gm, "$1")
    .replaceAll(/("nextPageToken":\s*")[^"]+"/g, '$1TOKEN"')
    .replaceAll(/127\.0\.0\.1:\d+/g, "HERE");
}

const latin1Of = (base64: string): string => Buffer.from(base64, "base64").toString("latin1");
