import { describe, expect, it } from "vitest";
import { RememberedNames } from "../../src/gateway/remembered-names.js";

const ada = { owner: "ada" };
const bob = { owner: "bob" };

describe("the names of tasks", () => {
  it("the names of tasks belong to one caller of one tenant", () => {
    const names = new RememberedNames();
    names.give(ada, "a", "1");
    expect([names.find(ada, "a"), names.find(bob, "a"), names.find({ owner: "ada", tenant: "t" }, "a")]).toEqual([
      "1",
      undefined,
      undefined,
    ]);
  });

  it("the names of tasks are limited to the most recently used", () => {
    const names = new RememberedNames({ namesPerPrincipal: 2, principals: 2 });
    names.give(ada, "a", "1");
    names.give(ada, "b", "2");
    expect(names.find(ada, "a")).toBe("1");
    names.give(ada, "c", "3");
    expect(["a", "b", "c"].map((name) => names.find(ada, name))).toEqual(["1", undefined, "3"]);
    names.give(bob, "a", "4");
    expect(names.find(ada, "a")).toBe("1");
    names.give({ owner: "eve" }, "a", "5");
    expect([names.find(ada, "a"), names.find(bob, "a")]).toEqual(["1", undefined]);
  });

  it("the names of tasks go to one task when two callers claim the same at once", async () => {
    const names = new RememberedNames();
    const close = await names.open(ada, "a");
    const order: string[] = [];
    const second = names.open(ada, "a").then((end) => {
      order.push(`second finds ${names.find(ada, "a")}`);
      return end;
    });
    const third = names.open(ada, "a").then((end) => {
      order.push("third");
      return end;
    });
    (await names.open(bob, "a"))();
    names.give(ada, "a", "1");
    order.push("first is done");
    close();
    (await second)();
    (await third)();
    expect(order).toEqual(["first is done", "second finds 1", "third"]);
  });
});
