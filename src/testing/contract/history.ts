import type { InboxEntry } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import { alice, bob, sibling } from "./fixtures.js";
import type { Random } from "./random.js";

/** The random steps of a store's history. `which` selects one of the existing tasks. */
export interface Steps {
  readonly create: {
    readonly scope: Scope;
    readonly contextId: string;
    readonly state: TaskState;
    readonly time: number;
    readonly holder: string;
    readonly ends: boolean;
    readonly starts: boolean;
    readonly name: string | undefined;
  };
  readonly taskNamed: { readonly scope: Scope; readonly name: string };
  readonly append: {
    readonly which: number;
    readonly stale: "" | "epoch" | "seq";
    readonly count: number;
    readonly status: { readonly state: TaskState; readonly time: number } | undefined;
    readonly claim: { readonly holder: string; readonly turn: number } | undefined;
    readonly end: "" | "right" | "wrong";
    /** Whether the end parks the task, until a time in the past or indefinitely. */
    readonly park: { readonly wakeAt: number | undefined } | undefined;
    /** Whether the first record starts a turn. */
    readonly starts: boolean;
    readonly takes: readonly string[];
    readonly snapshot: boolean;
  };
  readonly put: { readonly which: number; readonly id: string; readonly kind: InboxEntry["kind"] };
  readonly withdraw: { readonly which: number; readonly id: string };
  readonly renew: { readonly instance: string; readonly ttlMs: number };
  readonly retire: { readonly instance: string };
  readonly advance: { readonly ms: number };
  readonly list: {
    readonly scope: Scope;
    readonly contextId: string | undefined;
    readonly state: TaskState | undefined;
    readonly since: number | undefined;
    readonly after: { readonly statusTime: number; readonly which: number } | undefined;
    readonly limit: number;
  };
  readonly recordsAfter: { readonly which: number; readonly after: number; readonly limit: number };
}

export interface Step<K extends keyof Steps> {
  readonly act: K;
  readonly step: Steps[K];
}

export type AnyStep = { [K in keyof Steps]: Step<K> }[keyof Steps];

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
const maxSteps = 60;
const quarterHourMs = 900_000;

/** Draws a random sequence of steps. */
export function drawHistory(random: Random): readonly AnyStep[] {
  return random.list(random.int(1, maxSteps), () => drawStep(random));
}

function drawStep(random: Random): AnyStep {
  const which = random.int(0, 9);
  const id = random.pick("e1", "e2", "e3", "e4");
  const instance = random.pick("i1", "i2", "i3");
  const ms = random.int(1, 200);
  const limit = random.int(1, 5);
  return random.pick<AnyStep>(
    { act: "create", step: drawCreate(random) },
    { act: "taskNamed", step: { scope: drawScope(random), name: drawName(random) } },
    { act: "append", step: drawAppend(random) },
    { act: "put", step: { which, id, kind: random.pick("message", "message", "cancel", "wake") } },
    { act: "withdraw", step: { which, id } },
    { act: "renew", step: { instance, ttlMs: ms } },
    { act: "retire", step: { instance } },
    { act: "advance", step: { ms } },
    { act: "list", step: drawList(random) },
    { act: "recordsAfter", step: { which, after: random.int(0, 12), limit } },
  );
}

function drawCreate(random: Random): Steps["create"] {
  return {
    scope: drawScope(random),
    contextId: drawContext(random),
    state: drawState(random),
    time: drawTime(random),
    holder: random.pick("i1", "i2", "i3"),
    ends: random.chance(2),
    starts: random.chance(2),
    name: random.rarely(2, () => drawName(random)),
  };
}

function drawAppend(random: Random): Steps["append"] {
  return {
    which: random.int(0, 9),
    stale: random.pick("", "", "", "", "epoch", "seq"),
    count: random.int(0, 3),
    status: random.rarely(3, () => ({ state: drawState(random), time: drawTime(random) })),
    claim: random.rarely(3, () => ({ holder: random.pick("i1", "i2", "i3"), turn: random.int(0, 5) })),
    end: random.pick("", "", "right", "wrong"),
    park: random.rarely(2, () => ({ wakeAt: random.rarely(2, () => drawTime(random)) })),
    starts: random.chance(3),
    takes: random.list(random.int(0, 2), () => random.pick("e1", "e2", "e3", "e4")),
    snapshot: random.chance(2),
  };
}

function drawList(random: Random): Steps["list"] {
  return {
    scope: drawScope(random),
    contextId: random.rarely(3, () => drawContext(random)),
    state: random.rarely(3, () => drawState(random)),
    since: random.rarely(3, () => drawTime(random)),
    after: random.rarely(3, () => ({ statusTime: drawTime(random), which: random.int(0, 9) })),
    limit: random.int(1, 4),
  };
}

const drawScope = (random: Random): Scope => random.pick<Scope>(alice, bob, sibling);
const drawName = (random: Random): string => random.pick("n1", "n2", "n3");
const drawContext = (random: Random): string => random.pick("c1", "c2");
const drawState = (random: Random): TaskState => random.pick(SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED);
/** Times are close together, with a few far apart, since a store may count tasks by time span. */
const drawTime = (random: Random): number => random.int(0, 6) + random.pick(0, 0, 0, 1, 2, 300) * quarterHourMs;
