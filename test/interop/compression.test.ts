import { afterAll, beforeAll, describe } from "vitest";
import { serveBehindCompression } from "./agent.js";
import { describeClients } from "./clients-suite.js";
import { secrets } from "./guarded.js";
import { sdks } from "./sdk.js";

describe("agents in Express behind compression()", () => {
  let app: Awaited<ReturnType<typeof serveBehindCompression>>;
  beforeAll(async () => {
    app = await serveBehindCompression();
  });
  afterAll(() => app?.close());

  // The official JavaScript SDK looks for the card below the last slash.
  const at = (path: string): string => `${app.url}${path}/`;

  describeClients(
    sdks,
    async () => ({
      full: at("/full"),
      plain: at("/plain"),
      guarded: { guarded: at("/guarded"), ...(await secrets()) },
    }),
    ["JSONRPC", "HTTP+JSON"],
  );
});
