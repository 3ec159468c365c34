import { beforeAll, describe, expect, it } from "vitest";
import { type BindingName, bindings, cases } from "./cases.js";
import { isOpen, openForOurAgent } from "./deviations.js";
import { type Agents, type Report, runClient, type Sdk } from "./sdk.js";

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

/** Runs every case with each SDK over each binding against agents of ours. `served`: the bindings. Default: all. */
export function describeClients(
  sdks: readonly Sdk[],
  agents: () => Promise<Agents>,
  served: readonly BindingName[] = bindings,
): void {
  describe.each(sdks)("the $name SDK", (sdk) => {
    if (!sdk.installed && !complete) {
      it.skip("is not installed: bash test/interop/setup.sh");
      return;
    }

    const reports = new Map<BindingName, Report>();

    beforeAll(async () => {
      const at = await agents();
      await Promise.all(served.map(async (binding) => reports.set(binding, await runClient(sdk, binding, at))));
    });

    describe.each(served)("over %s", (binding) => {
      for (const [name, title] of Object.entries(cases)) {
        const test = isOpen(openForOurAgent, sdk.name, binding, name) ? it.fails : it;
        test(`${name}: ${title}`, () => {
          const report = reports.get(binding);
          const outcome = report?.outcomes.get(name);
          expect(outcome?.ok, outcome?.detail ?? report?.end).toBe(true);
        });
      }

      it("the SDK reports no case beyond the listed ones", () => {
        const reported = [...(reports.get(binding)?.outcomes.keys() ?? [])];
        expect(reported.filter((name) => !Object.hasOwn(cases, name))).toEqual([]);
      });
    });
  });
}
