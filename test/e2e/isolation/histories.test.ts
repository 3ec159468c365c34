import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { sqliteStore } from "trivium/sqlite";
import { expect, it } from "vitest";
import { operations } from "../../../src/protocol/operations.js";
import { createRandom, type Random } from "../../core/simulator/random.js";
import { tries } from "../../support/tries.js";
import { wires } from "../../support/wires.js";
import { type NameKind, nameKinds, namingFields, withName } from "./names.js";
import { hook, message } from "./scene.js";
import { type Call, type Outcome, startWorld, strangers, victim, type Who, type World } from "./world.js";

// Callers act at random, and name what they have, what others have, and what nobody has. A world in which one of them
// never came looks the same to all others. To replay one seed: ISOLATION_SEED=7 npx vitest run test/e2e/isolation/histories.test.ts

const { ISOLATION_SEED } = process.env;
const seeds = ISOLATION_SEED === undefined ? tries(4, 120) : 1;
const first = Number(ISOLATION_SEED ?? 1);
const steps = 40;

/** What callers know of a world: the names of their own things, by kind. */
class Things {
  readonly #names = new Map<string, string[]>();

  of({ mark }: Who, kind: NameKind): string[] {
    const key = `${mark} ${kind}`;
    const names = this.#names.get(key) ?? [];
    this.#names.set(key, names);
    return names;
  }

  learn(who: Who, { replies, eventIds }: Outcome): void {
    const add = (kind: NameKind, name: JsonValue | undefined) => {
      const names = this.of(who, kind);
      if (typeof name === "string" && name !== "" && !names.includes(name)) names.push(name);
    };
    for (const reply of replies) {
      const task = (reply["task"] ?? reply) as JsonObject;
      if (task["status"] !== undefined) add("task", task["id"]);
      add("context", task["contextId"]);
      if (reply["url"] !== undefined) add("config", reply["id"]);
      add(reply["tasks"] === undefined ? "configsPage" : "tasksPage", reply["nextPageToken"]);
    }
    // After the last one, nothing may come.
    for (const id of eventIds.slice(0, -1)) add("event", id);
  }
}

/** A name in a call: one of the caller's own things, one of another's, or any text. */
interface Wish {
  readonly path: readonly string[];
  readonly kind: NameKind;
  readonly isList: boolean;
  readonly of: Who | undefined;
  readonly at: number;
}

interface Step {
  readonly who: Who;
  readonly call: Omit<Call, "after">;
  readonly wishes: readonly Wish[];
}

/** The words that any caller may choose for itself: the same ones in all worlds. */
const words: Readonly<Partial<Record<NameKind, readonly string[]>>> = {
  message: ["m-1", "m-2", "m-3"],
  context: ["the-harbour", "the-pier"],
  config: ["hook", "other"],
  task: ["berth-7"],
};

function stepOf(random: Random, serial: number): Step {
  const who = random.pick([victim, victim, ...strangers]);
  const operation = random.pick([operations[0] ?? missing(), ...operations, ...operations.slice(0, 2)]);
  const isSend = operation.name.startsWith("send");
  const kind = random.pick(["done", "ask", "reply"]);
  let request: JsonObject = isSend ? { message: message(who, kind, `${who.mark}-${serial}`) } : {};
  if (operation.name.startsWith("create")) request = { url: hook };
  const wishes = namingFields(operation)
    .filter(({ path, kind }) => kind !== "tenant" && (random.chance(isSend ? 0.3 : 0.9) || path.length === 0))
    .map(({ path, kind, isList }) => ({
      ...{ path, kind, isList },
      of: random.pick([who, who, victim, victim, random.pick([...strangers] as [Who, ...Who[]]), undefined]),
      at: random.int(0, 9),
    }));
  return { who, call: { operation, request, over: random.pick([...wires] as [(typeof wires)[number]]) }, wishes };
}

function missing(): never {
  throw new TypeError("there are no operations");
}

/** The call of a step with names of this world; the victim's names are those of the world that has them. */
function callOf({ call, wishes }: Step, things: Things, victims: Things): Call {
  let { request } = call;
  let after: string | undefined;
  for (const { path, kind, isList, of, at } of wishes) {
    const owned = of === undefined ? [] : (of === victim ? victims : things).of(of, kind);
    const names = [...owned, ...(words[kind] ?? [])];
    const name = names[at % Math.max(names.length, 1)] ?? "nothing";
    if (kind === "event") after = name;
    else request = withName(request, path, isList ? [name] : name);
  }
  const inline = (request["configuration"] as JsonObject | undefined)?.["taskPushNotificationConfig"];
  if (inline !== undefined) request = withName(request, ["configuration", "taskPushNotificationConfig", "url"], hook);
  return { ...call, request, after };
}

it.each(Array.from({ length: seeds }, (_, at) => first + at))(
  "a world without one caller is the same to all others: seed %s",
  async (seed) => {
    const random = createRandom(seed);
    const store = () => (seed % 3 === 0 ? sqliteStore({ path: ":memory:" }) : undefined);
    await using full = await startWorld("in-process", store());
    await using empty = await startWorld("in-process", store());
    const worlds = [
      [full, new Things()],
      [empty, new Things()],
    ] as const;
    const [[, victims]] = worlds;
    const labels = new Map<string, string>();
    for (const [world] of worlds) world.label(labels);
    const perform = async (step: Step, world: World, things: Things): Promise<Outcome> => {
      const outcome = await world.call(step.who, callOf(step, things, victims));
      things.learn(step.who, outcome);
      return outcome;
    };
    for (let serial = 0; serial < steps; serial++) {
      const step = stepOf(random, serial);
      if (step.who === victim) {
        await perform(step, full, victims);
        for (const kind of nameKinds)
          for (const name of victims.of(victim, kind))
            if (!labels.has(name)) labels.set(name, `VICTIMS-${labels.size}`);
        continue;
      }
      const [here, there] = await Promise.all(worlds.map(([world, things]) => perform(step, world, things)));
      const what = `ISOLATION_SEED=${seed}, step ${serial}: ${step.who.mark} ${step.call.operation.name} over ${step.call.over}\n`;
      expect(what + here?.text).toBe(what + there?.text);
      expect(here?.text).not.toContain(victim.mark);
    }
  },
);
