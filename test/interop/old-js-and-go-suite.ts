import type { Server } from "trivium";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AError } from "../../src/protocol/errors.js";
import { serveFull, serveGuarded, servePlain } from "./agent.js";
import type { BindingName } from "./cases.js";
import { connect } from "./connect.js";
import { cutCases } from "./cut-cases.js";
import { secrets } from "./guarded.js";
import type { OldSdk } from "./old-js-and-go.js";
import type { OldPeer } from "./old-js-and-go-any-cases.js";
import { casesOf } from "./old-js-and-go-cases.js";
import { oldClientCases } from "./old-js-and-go-client-cases.js";
import { agentDeviation, clientDeviation } from "./old-js-and-go-deviations.js";
import { type Report, runClient } from "./sdk.js";
import { type RunningAgent, startAgent } from "./sdk-agents.js";

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

/**
 * Tests older SDKs in both directions: as clients of our agent, which serves every version, and as agents for our
 * client.
 */
export function testOldSdks(sdks: readonly OldSdk[], setup: string): void {
  describe.each(sdks)("$name", (sdk) => {
    if (!sdk.client.installed && !complete) {
      it.skip(`is not installed: bash ${setup}`);
      return;
    }
    testTheirClient(sdk);
    testTheirAgent(sdk);
  });
}

function testTheirClient(sdk: OldSdk): void {
  describe("as a client of our agent", () => {
    let full: Server;
    let plain: Server;
    let guarded: Server;
    const reports = new Map<BindingName, Report>();

    beforeAll(async () => {
      [full, plain, guarded] = await Promise.all([serveFull(), servePlain(), serveGuarded()]);
      const agents = { full: full.url, plain: plain.url, guarded: { guarded: guarded.url, ...(await secrets()) } };
      for (const binding of sdk.bindings) reports.set(binding, await runClient(sdk.client, binding, agents));
    });

    afterAll(() => Promise.all([full?.close(), plain?.close(), guarded?.close()]));

    describe.each(sdk.bindings)("over %s", (binding) => {
      for (const [name, title] of Object.entries(casesOf(sdk.version))) {
        if (Object.hasOwn(sdk.without ?? {}, name)) continue;
        const deviation = clientDeviation(sdk.name, binding, name);
        const test = deviation === undefined ? it : it.fails;
        test(deviation === undefined ? `${name}: ${title}` : `${name}: ${title}: ${deviation.because}`, () => {
          const report = reports.get(binding);
          const outcome = report?.outcomes.get(name);
          expect(outcome?.ok, outcome?.detail ?? report?.end).toBe(true);
        });
      }

      it("the old client reports every case and no other", () => {
        const reported = [...(reports.get(binding)?.outcomes.keys() ?? [])];
        const caseNames = Object.keys(casesOf(sdk.version));
        expect(reported.filter((name) => !caseNames.includes(name))).toEqual([]);
        const missing = caseNames.filter((name) => !reported.includes(name));
        expect(missing.filter((name) => !Object.hasOwn(sdk.without ?? {}, name))).toEqual([]);
      });
    });
  });
}

/** Returns the error code of a failed call, or a description of any other outcome. */
async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "no failure";
  } catch (error) {
    return error instanceof A2AError && error.name === "A2AError" ? error.code : String(error);
  }
}

function testTheirAgent(sdk: OldSdk): void {
  describe("as an agent for our client", () => {
    let agent: RunningAgent;

    beforeAll(async () => {
      agent = await startAgent(sdk.agent);
    });

    afterAll(() => agent?.[Symbol.asyncDispose]());

    describe.each(sdk.bindings)("over %s", (binding) => {
      let peer: OldPeer;

      beforeAll(async () => {
        peer = { sdk: sdk.agent.name, version: sdk.version, client: await connect(agent.url, binding) };
      });

      afterAll(() => peer?.client.close());

      it("the old agent speaks its version over the binding", async () => {
        await oldClientCases(sdk.version)["is answered by a message"]?.run(peer);
        expect(peer.client.connection).toMatchObject({ binding, version: sdk.version });
      });

      for (const [name, run] of Object.entries(cutCases)) it(name, () => run(peer.client.card));

      for (const [name, { run, code: wanted }] of Object.entries(oldClientCases(sdk.version))) {
        const deviation = agentDeviation(sdk.name, binding, name);
        const { code } = deviation ?? { code: wanted };
        const once = async (): Promise<void> => {
          if (code === "otherwise") await expect(run(peer)).rejects.toThrow();
          else if (code === undefined) await run(peer);
          else expect(await failureOf(run(peer))).toBe(code);
        };
        const title = code === undefined || code === "otherwise" ? name : `${name} and is told ${code}`;
        if (deviation === undefined) it(title, once);
        // A deviation may depend on the agent's progress, so the case is retried until it shows.
        else it(`${title}: ${deviation.because}`, () => vi.waitFor(once, { timeout: 50_000 }));
      }
    });
  });
}
