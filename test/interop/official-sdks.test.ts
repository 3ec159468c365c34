import type { Server } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveFull, serveGuarded, servePlain } from "./agent.js";
import { type BindingName, bindings, cases } from "./cases.js";
import { isOpen, openForOurAgent } from "./deviations.js";
import { secrets } from "./guarded.js";
import { olderSdks, type Report, runClient, sdks } from "./sdk.js";

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

let full: Server;
let plain: Server;
let guarded: Server;

beforeAll(async () => {
  [full, plain, guarded] = await Promise.all([serveFull(), servePlain(), serveGuarded()]);
});

afterAll(async () => {
  await Promise.all([full?.close(), plain?.close(), guarded?.close()]);
});

describe.each([...sdks, ...olderSdks])("the $name SDK", (sdk) => {
  if (!sdk.installed && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  const reports = new Map<BindingName, Report>();

  beforeAll(async () => {
    const agents = { full: full.url, plain: plain.url, guarded: { guarded: guarded.url, ...(await secrets()) } };
    await Promise.all(bindings.map(async (binding) => reports.set(binding, await runClient(sdk, binding, agents))));
  });

  describe.each(bindings)("over %s", (binding) => {
    for (const [name, title] of Object.entries(cases)) {
      const test = isOpen(openForOurAgent, sdk.name, binding, name) ? it.fails : it;
      test(`${name}: ${title}`, () => {
        const report = reports.get(binding);
        const outcome = report?.outcomes.get(name);
        expect(outcome?.ok, outcome?.detail ?? report?.end).toBe(true);
      });
    }

    it("reports no case beyond these", () => {
      const reported = [...(reports.get(binding)?.outcomes.keys() ?? [])];
      expect(reported.filter((name) => !Object.hasOwn(cases, name))).toEqual([]);
    });
  });
});
