import type { AgentsServer } from "trivium";
import { afterAll, beforeAll, describe } from "vitest";
import { serveSeveral } from "./agent.js";
import { describeClients } from "./clients-suite.js";
import { secrets } from "./guarded.js";
import { sdks } from "./sdk.js";

describe("several agents on one port", () => {
  let server: AgentsServer;
  beforeAll(async () => {
    server = await serveSeveral();
  });
  afterAll(() => server?.close());

  // The official JavaScript SDK looks for the card below the last slash.
  const at = (path: string): string => `${server.url}${path}/`;

  describeClients(sdks, async () => ({
    full: at("/full"),
    plain: at("/plain"),
    guarded: { guarded: at("/guarded"), ...(await secrets()) },
  }));
});
