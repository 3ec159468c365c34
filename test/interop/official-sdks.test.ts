import type { Server } from "trivium";
import { afterAll, beforeAll } from "vitest";
import { serveFull, serveGuarded, servePlain } from "./agent.js";
import { describeClients } from "./clients-suite.js";
import { secrets } from "./guarded.js";
import { olderSdks, sdks } from "./sdk.js";

let full: Server;
let plain: Server;
let guarded: Server;

beforeAll(async () => {
  [full, plain, guarded] = await Promise.all([serveFull(), servePlain(), serveGuarded()]);
});

afterAll(async () => {
  await Promise.all([full?.close(), plain?.close(), guarded?.close()]);
});

describeClients([...sdks, ...olderSdks], async () => ({
  full: full.url,
  plain: plain.url,
  guarded: { guarded: guarded.url, ...(await secrets()) },
}));
