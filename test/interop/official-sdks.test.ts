import type { Server } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveFull, servePlain } from "./agent.js";
import { bindings, cases } from "./cases.js";
import { type Report, runClient, sdks } from "./sdk.js";

// Where tests have to be complete, an SDK that is missing is a failure and not a reason to skip.
const complete = process.env["CI"] !== undefined;

let full: Server;
let plain: Server;

beforeAll(async () => {
  [full, plain] = await Promise.all([serveFull(), servePlain()]);
});

afterAll(async () => {
  await Promise.all([full?.close(), plain?.close()]);
});

describe.each(sdks)("the $name SDK", (sdk) => {
  if (!sdk.installed && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  describe.each(bindings)("over %s", (binding) => {
    let report: Report;

    beforeAll(async () => {
      report = await runClient(sdk, binding, { full: full.url, plain: plain.url });
    });

    it.each(Object.entries(cases))("%s: %s", (name) => {
      const outcome = report.outcomes.get(name);
      expect(outcome?.ok, outcome?.detail ?? report.end).toBe(true);
    });

    it("reports no case beyond these", () => {
      expect([...report.outcomes.keys()].filter((name) => !Object.hasOwn(cases, name))).toEqual([]);
    });
  });
});
