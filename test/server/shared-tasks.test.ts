import { completed, createAgent } from "trivium";
import { expect, it } from "vitest";
import { connectTo } from "../../src/testing/connect-to.js";
import { recordingLogger } from "../support/recording-logger.js";
import { say } from "../support/say.js";

const card = { name: "Open", description: "d", version: "1" };
const agent = async () => completed();

it("an agent that is mounted without `authenticate` warns once that all callers share all tasks", async () => {
  const { log, logger } = recordingLogger();
  await using mounted = await createAgent({ card, agent, logger });
  expect(log).toEqual([]);
  mounted.nodeListener();
  mounted.fetch();
  await mounted.koa();
  expect(log).toEqual([
    {
      level: "warn",
      fields: {},
      message:
        'all callers share all tasks: give `auth` or `authenticate`, or set `anonymous: "shared"` if that is intended',
    },
  ]);
});

it.each([{ authenticate: () => ({ owner: "o" }) }, { anonymous: "shared" as const }])(
  "a mounted agent does not warn of shared tasks when the program says who calls: %o",
  async (options) => {
    const { log, logger } = recordingLogger();
    await using mounted = await createAgent({ card, agent, logger, ...options });
    mounted.fetch();
    expect(log).toEqual([]);
  },
);

it("an agent under test is not open to others", async () => {
  const { log, logger } = recordingLogger();
  await using client = await connectTo(agent, { logger });
  await client.operations.sendMessage(say("go"), {});
  expect(log).toEqual([]);
});
