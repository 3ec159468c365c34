import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { Overload, ProcessLoad } from "../../src/core/process-load.js";
import { A2AError } from "../../src/protocol/errors.js";
import { artifact, completed, inputRequired, working } from "../../src/protocol/events.js";
import { startHandler, type TestHandler } from "../support/handler.js";
import { errorOf, lineOf, openStream, stateOf, taskOf } from "../support/say.js";
import { settle } from "../support/virtual-clock.js";

const at = (owner: string) => ({ principal: { owner } });
const atOnce = { configuration: { returnImmediately: true } };

/** A load that a test sets. */
function createLoad() {
  let now: Overload | undefined;
  const load: ProcessLoad = { overload: () => now };
  return {
    load,
    set(refuses?: Overload["refuses"]) {
      now = refuses && { refuses, refuse: () => new A2AError("unavailable", `refused: ${refuses}`) };
    },
  };
}

/** An agent that emits what the message names, then asks or waits until the test has ended. */
const staying: Agent = async function* ({ text, signal, receive }) {
  yield working();
  if (text === "question") {
    yield inputRequired("which one?");
    return;
  }
  if (text === "large") yield artifact("x".repeat(1 << 20));
  if (text === "ask") {
    await receive();
    yield completed("thanks");
  }
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};

async function serve(begin: Readonly<Record<string, readonly string[]>>) {
  const { load, set } = createLoad();
  const served = startHandler({ agent: staying, load, limits: { turnsPerOwner: 100 } });
  const ids: Record<string, string> = {};
  for (const [owner, texts] of Object.entries(begin)) {
    for (const text of texts) ids[text] = taskOf(await served.send(text, atOnce, at(owner))).id;
  }
  await settle();
  return { ...served, set, ids };
}

const code = async (served: TestHandler, owner: string): Promise<string> => {
  const error = await served.send("more", atOnce, at(owner)).then(
    () => undefined,
    (error: A2AError) => error,
  );
  return error?.code ?? "taken";
};

const times = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

describe("a process that refuses excess", () => {
  it("a process that refuses excess refuses the owner with the most turns, and takes sends of all others", async () => {
    await using served = await serve({ alice: times(20, "stay"), bob: times(3, "stay") });
    served.set("excess");
    expect(await code(served, "alice")).toBe("unavailable");
    expect(await code(served, "bob")).toBe("taken");
    expect(await code(served, "carol")).toBe("taken");
  });

  it("a process counts what the tasks of turns hold: one large task weighs more than some small ones", async () => {
    await using served = await serve({ alice: times(8, "stay"), bob: times(3, "large") });
    served.set("excess");
    expect(await code(served, "alice")).toBe("taken");
    expect(await code(served, "bob")).toBe("unavailable");
  });

  it("a process refuses an owner that is alone, but not one with four small turns or less", async () => {
    await using served = await serve({ alice: times(3, "stay") });
    served.set("excess");
    expect(await code(served, "alice")).toBe("taken");
    expect(await code(served, "alice")).toBe("taken");
    expect(await code(served, "alice")).toBe("unavailable");
  });

  it("a process refuses two owners who share the load, and takes the next one", async () => {
    await using served = await serve({ alice: times(10, "stay"), bob: times(10, "stay") });
    served.set("excess");
    expect([await code(served, "alice"), await code(served, "bob")]).toEqual(["unavailable", "unavailable"]);
    expect(await code(served, "carol")).toBe("taken");
  });
});

describe("a process that refuses all", () => {
  it("a process that refuses all starts no task, continues none and wakes none, and does so afterwards", async () => {
    await using served = await serve({ alice: ["question"] });
    const taskId = served.ids["question"] ?? "";
    served.set("all");
    const wake = () => served.handler.wake({ owner: "alice", tenant: "" }, taskId);
    const refused = { code: "unavailable", message: "refused: all" };
    expect(await errorOf(served.send("go", {}, at("bob")))).toMatchObject(refused);
    expect(await errorOf(openStream(served.stream("go", {}, at("bob"))))).toMatchObject(refused);
    expect(await errorOf(served.send("go", { taskId }))).toMatchObject(refused);
    expect(await errorOf(wake())).toMatchObject(refused);
    expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
    served.set();
    expect(await wake()).toBe(true);
    expect(await code(served, "bob")).toBe("taken");
  });

  it("a process that refuses all answers reads and cancels, and lets streams run to their end", async () => {
    await using served = await serve({ alice: ["ask", "stay"] });
    const { firstItem: first, readRest: rest } = await openStream(served.subscribe(served.ids["ask"] ?? ""));
    expect(lineOf(first)).toBe("task WORKING");
    served.set("all");
    expect(stateOf(await served.get(served.ids["stay"] ?? ""))).toBe("WORKING");
    expect(stateOf(await served.cancel(served.ids["stay"] ?? ""))).toBe("CANCELED");
    await served.send("the answer", { taskId: served.ids["ask"] ?? "", ...atOnce }, at("alice"));
    expect(await rest()).toEqual(["status COMPLETED"]);
  });
});
