import type { Server } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConnectionError, type ErrorCode } from "../../src/protocol/errors.js";
import { serveFull, serveGuarded, servePlain } from "./agent.js";
import type { BindingName } from "./cases.js";
import { connect } from "./connect.js";
import { secrets } from "./guarded.js";
import { oldPythons } from "./old-python.js";
import { allowance } from "./old-python-agents.js";
import { type AgentDeviation, agentDeviations, clientDeviations, deviationOf } from "./old-python-deviations.js";
import { casesAsAgent, casesAsClient } from "./old-python-table.js";
import { type Report, runClient } from "./sdk.js";
import { type RunningAgent, startAgent } from "./sdk-agents.js";

// In CI a missing release is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

const howToInstall = "is not installed: bash test/interop/python-old/setup.sh";

describe.each(oldPythons)("$name as a client of our agent", (python) => {
  if (!python.installed && !complete) {
    it.skip(howToInstall);
    return;
  }

  const { name: release, command, clientProgram, installed } = python;
  const cases = casesAsClient(python);
  const reports = new Map<BindingName, Report>();
  const servers: Server[] = [];

  beforeAll(async () => {
    const [full, plain, guarded] = [await serveFull(), await servePlain(), await serveGuarded()];
    servers.push(full, plain, guarded);
    const agents = { full: full.url, plain: plain.url, guarded: { guarded: guarded.url, ...(await secrets()) } };
    const program = { name: release, command, program: [clientProgram], installed };
    const run = async (binding: BindingName): Promise<unknown> =>
      reports.set(binding, await runClient(program, binding, agents));
    await Promise.all(python.bindings.map(run));
  });

  afterAll(() => Promise.all(servers.map((server) => server.close())));

  describe.each(python.bindings)("over %s", (binding) => {
    for (const [name, title] of Object.entries(cases)) {
      const place = { release, binding, name };
      const because = deviationOf(clientDeviations, place)?.because;
      const test = because === undefined ? it : it.fails;
      test(`${name}: ${title}${because === undefined ? "" : `, but not here: ${because}`}`, () => {
        const report = reports.get(binding);
        const outcome = report?.outcomes.get(name);
        // A client that never reached the case proves nothing.
        if (outcome === undefined && because !== undefined) return;
        expect(outcome?.ok, outcome?.detail ?? report?.end).toBe(true);
      });
    }

    it("the old Python client reports these cases and no other", () => {
      const reported = [...(reports.get(binding)?.outcomes.keys() ?? [])];
      expect(new Set(reported), reports.get(binding)?.end).toEqual(new Set(Object.keys(cases)));
    });
  });
});

const agents = oldPythons.flatMap((python) => (python.agent === undefined ? [] : [{ ...python, agent: python.agent }]));

describe.each(agents)("our client and an agent on $name", (python) => {
  if (!python.installed && !complete) {
    it.skip(howToInstall);
    return;
  }

  let agent: RunningAgent;

  beforeAll(async () => {
    agent = await startAgent(python.agent);
  });

  afterAll(() => agent?.[Symbol.asyncDispose]());

  describe.each(python.agentBindings)("over %s", (binding) => {
    for (const each of casesAsAgent(python)) {
      const { name, code: wanted, run } = each;
      const place = { release: python.name, binding, name };
      const deviation = deviationOf(agentDeviations, place);
      const comes = deviation?.comes ?? wanted ?? "result";
      const title = isCode(comes) ? `${name} and is told ${comes}` : name;
      const test = comes === "other" ? it.fails : it;
      test(deviation === undefined ? title : `${title}: ${deviation.because}`, async () => {
        await using client = await connect(agent.url, binding);
        const running = run({ sdk: "Python", client });
        if (isCode(comes)) await expect(running).rejects.toMatchObject({ name: "A2AError", code: comes });
        else if (comes === "break") await expect(running).rejects.toThrow(ConnectionError);
        else await running;
      });
    }

    it("the old Python agent speaks the version of the release", async () => {
      await using client = await connect(agent.url, binding);
      await client.send("task", allowance);
      expect(client.connection?.version).toBe(python.version);
    });
  });
});

function isCode(comes: AgentDeviation["comes"]): comes is ErrorCode {
  return comes !== "result" && comes !== "other" && comes !== "break";
}
