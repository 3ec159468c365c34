import { describe, expect, it } from "vitest";
import { operations } from "../../../src/protocol/operations.js";
import { tries } from "../../support/tries.js";
import { type Ability, type Wire, wireRow, wires, wiresThat } from "../../support/wires.js";
import { type NamingField, namingFields, withName, wrongRows } from "./names.js";
import { contextsOf, hook, type Names, ownRequest, settleVictim, victimsView } from "./scene.js";
import { type Outcome, startWorld, strangers, victim, type Who, type World } from "./world.js";

// Two worlds: in one of them somebody has tasks, contexts, messages, push configurations and pages. A stranger who names
// these gets the same answers in both, to the byte, over every operation, binding and version.

it("every text that a request may have is in the table of names", () => {
  expect(wrongRows()).toEqual({ missing: [], unused: [] });
});

type Probe = readonly { readonly field: NamingField; readonly value: string }[];

/** Calls of all operations, each with some names of the victim's in it. */
function probes(names: Names, turn: number): readonly Probe[] {
  return operations.flatMap((operation) => {
    const fields = namingFields(operation);
    const singles = fields.flatMap((field) => {
      const values = names[field.kind];
      const some = tries(1, 0) === 1 ? [values[turn % values.length] ?? ""] : values;
      return some.map((value) => [{ field, value }]);
    });
    const all = fields
      .filter(({ kind }) => kind !== "tenant")
      .map((field) => ({ field, value: names[field.kind][0] ?? "" }));
    return all.length === 0 ? singles : [...singles, all];
  });
}

// Who has no tenant may name one, and is then its caller of that name.
function forStranger(names: Names, { name }: Who): Names {
  return name.includes("@") ? names : { ...names, tenant: ["south"] };
}

async function probe(world: World, who: Who, named: Probe, serial: number): Promise<Outcome> {
  const [
    {
      field: { operation },
    } = missing(),
  ] = named;
  let request = await ownRequest(world, who, operation.name, serial);
  let after: string | undefined;
  for (const { field, value } of named) {
    if (field.kind === "event") after = value;
    else request = withName(request, field.path, field.isList ? [value] : value);
  }
  const { configuration } = request as { configuration?: { taskPushNotificationConfig?: object } };
  if (configuration?.taskPushNotificationConfig !== undefined)
    request = withName(request, ["configuration", "taskPushNotificationConfig", "url"], hook);
  return world.call(who, { operation, request, after });
}

/** Both worlds, and a call in both. */
async function startWorlds(wire: Wire) {
  const full = await startWorld(wire);
  const empty = await startWorld(wire);
  const names = await settleVictim(full);
  const labels = new Map([...names.task, ...names.context].map((id, index) => [id, `VICTIMS-${index}`]));
  for (const world of [full, empty]) world.label(labels);
  let serial = 0;
  return {
    full,
    names,
    async compared(who: Who, named: Probe) {
      serial += 1;
      const outcomes = await Promise.all([full, empty].map((world) => probe(world, who, named, serial)));
      return outcomes.map(({ text }) => `${titleOf(who, named)}\n${text}`);
    },
    async [Symbol.asyncDispose]() {
      await full[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    },
  };
}

function missing(): never {
  throw new TypeError("a probe names something");
}

const titleOf = ({ mark }: Who, named: Probe): string =>
  [mark, named[0]?.field.operation.name, ...named.map(({ field, value }) => `${field.path.join(".")}=${value}`)].join(
    " ",
  );

/** What leads an owner to its things, and what a wire has to be able to do for it: by these the sweep shows that it asks. */
const leading: Readonly<Record<string, Ability | undefined>> = {
  "sendMessage message.messageId": "keep ids of messages",
  "sendMessage message.contextId": undefined,
  "sendMessage message.taskId": undefined,
  "sendMessage message.referenceTaskIds": "refer to tasks",
  "sendStreamingMessage message.messageId": "keep ids of messages",
  "sendStreamingMessage message.contextId": undefined,
  // Elsewhere the name has led to a task of the other world by now.
  "sendStreamingMessage message.taskId": "take ids as they are given",
  "sendStreamingMessage message.referenceTaskIds": "refer to tasks",
  "sendStreamingMessage after": "take ids as they are given",
  "getTask id": undefined,
  "listTasks contextId": "list tasks",
  "listTasks pageToken": "list tasks",
  "cancelTask id": undefined,
  "subscribeToTask id": undefined,
  "subscribeToTask all": undefined,
  "createTaskPushNotificationConfig taskId": undefined,
  "getTaskPushNotificationConfig all": undefined,
  "listTaskPushNotificationConfigs taskId": undefined,
  "deleteTaskPushNotificationConfig all": undefined,
};

/** The row of a probe. */
function leadOf(named: Probe): string {
  const [{ field } = missing()] = named;
  return `${field.operation.name} ${named.length > 1 ? "all" : field.path.join(".")}`;
}

it("every operation that names more than a tenant is known to lead its owner somewhere", () => {
  const naming = operations.filter((operation) => namingFields(operation).some(({ kind }) => kind !== "tenant"));
  const led = new Set(Object.keys(leading).map((what) => what.split(" ")[0]));
  expect(naming.map(({ name }) => name).filter((name) => !led.has(name))).toEqual([]);
});

/** Every other probe, in turn with the wires; all of them in `npm run test:sweeps`, and in process. */
function some(all: readonly Probe[], wire: Wire): readonly Probe[] {
  const step = wire === "in-process" ? 1 : tries(2, 1);
  return all.filter((_, at) => at % step === wires.indexOf(wire) % step);
}

/** Who is tried over a wire; in process it costs little. */
function strangersOver(wire: Wire): readonly Who[] {
  const count = wire === "in-process" ? strangers.length : tries(1, strangers.length);
  const from = wires.indexOf(wire) % strangers.length;
  return [...strangers, ...strangers].slice(from, from + count);
}

/** Connect and gRPC-Web have the adapters of gRPC: they take their turn where there is time. */
const searched = wires.filter((wire) => tries(0, 1) === 1 || !["CONNECT", "grpc-web"].includes(wireRow(wire).binding));

describe.each(searched)("over %s", (wire) => {
  it("what belongs to another owner, tenant or agent is as if it were not there", async () => {
    await using worlds = await startWorlds(wire);
    const { full, names, compared } = worlds;
    const before = await victimsView(full, names);
    for (const [at, stranger] of strangersOver(wire).entries()) {
      for (const named of some(probes(forStranger(names, stranger), at + wires.indexOf(wire)), wire)) {
        const [here, there] = await compared(stranger, named);
        expect(here).toBe(there);
        expect(here).not.toContain(victim.mark);
      }
    }
    expect(await victimsView(full, names)).toBe(before);
    const contexts = await contextsOf(full, victim, names);
    for (const { mark } of strangers) expect(contexts).not.toContain(mark);
  });

  it("the same names lead their owner to its things", async () => {
    await using worlds = await startWorlds(wire);
    const leads = new Set<string>();
    // Sends come last: in 0.1 they make what they name.
    const isSend = (named: Probe): boolean => named[0]?.field.operation.name.startsWith("send") === true;
    const all = probes(worlds.names, 0).filter((named) => Object.hasOwn(leading, leadOf(named)));
    for (const named of [...all.filter((each) => !isSend(each)), ...all.filter(isSend)]) {
      const [here, there] = await worlds.compared(victim, named);
      const anyId = (text = "") => text.replaceAll(/ID-\d+/g, "ID");
      if (anyId(here) !== anyId(there)) leads.add(leadOf(named));
    }
    const expected = Object.entries(leading).filter(
      ([, needs]) => needs === undefined || wiresThat(needs).includes(wire),
    );
    expect([...leads]).toEqual(expect.arrayContaining(expected.map(([what]) => what)));
  });
});
