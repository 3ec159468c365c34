import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/node.js";
import { bindings } from "./cases.js";
import { clientCases, type Peer } from "./client-cases.js";
import { errorCases } from "./client-errors.js";
import { connect } from "./connect.js";
import { cutCases } from "./cut-cases.js";
import { deviations, isOpen, openForOurClient } from "./deviations.js";
import { olderAgents, type RunningAgent, sdkAgents, startAgent, titleOf } from "./sdk-agents.js";

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

const cases = [...Object.entries(clientCases).map(([name, run]) => ({ name, run, code: undefined })), ...errorCases];

const agents = [...sdkAgents, ...olderAgents].map((sdk) => ({ sdk, title: titleOf(sdk) }));

describe.each(agents)("our client and an agent on the $title SDK", ({ sdk, title: sdkTitle }) => {
  if (!sdk.installed && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  let agent: RunningAgent;

  beforeAll(async () => {
    agent = await startAgent(sdk);
  });

  afterAll(() => agent?.[Symbol.asyncDispose]());

  describe.each(bindings)("over %s", (binding) => {
    let peer: Peer;

    beforeAll(async () => {
      peer = { sdk: sdk.name, client: await connect(agent.url, binding) };
    });

    afterAll(() => peer?.client.close());

    it("our client picks the interface of an SDK's agent that is preferred", async () => {
      await using client = await Client.connect(agent.url, { prefer: [binding] });
      await clientCases["is answered by a message"]?.({ sdk: sdk.name, client });
      expect(client.connection).toMatchObject({ binding, skipped: [] });
    });

    for (const [name, run] of Object.entries(cutCases)) it(name, () => run(peer.client.card));

    for (const { name, run, code: wanted } of cases) {
      const deviation = deviations.find(
        (each) => each.sdk === sdkTitle && each.name === name && (each.binding ?? binding) === binding,
      );
      const { code, because, late } = deviation ?? { code: wanted };
      const title = code === undefined || code === "otherwise" ? name : `${name} and is told ${code}`;
      const test = isOpen(openForOurClient, sdkTitle, binding, name) ? it.fails : it;
      const once = async (): Promise<void> => {
        if (code === "otherwise") await expect(run(peer)).rejects.toThrow();
        else if (code === undefined) await run(peer);
        else await expect(run(peer)).rejects.toMatchObject({ name: "A2AError", code });
      };
      test(because === undefined ? title : `${title}: ${because}`, () =>
        late === true ? vi.waitFor(once, { timeout: 30_000 }) : once(),
      );
    }
  });
});
