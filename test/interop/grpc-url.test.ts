import type { Server } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedPort } from "../support/fixed-port.js";
import { serveFull, serveGuarded, servePlain } from "./agent.js";
import { secrets } from "./guarded.js";
import { oldGo, oldJs } from "./old-js-and-go.js";
import { oldPythons } from "./old-python.js";
import { clientDeviations, deviationOf } from "./old-python-deviations.js";
import { casesAsClient } from "./old-python-table.js";
import { type Report, runClient, type Sdk } from "./sdk.js";

// The card of an agent whose `publicGrpc` is a URL, as clients of 0.3 read it.

const complete = process.env["CI"] !== undefined;
const [python] = oldPythons;
const dialed = [...oldJs, ...oldGo].filter(({ version, bindings }) => version === "0.3" && bindings.includes("GRPC"));

const servers: Server[] = [];

beforeAll(async () => {
  const port = await fixedPort();
  const full = await serveFull({ port, publicGrpc: `http://127.0.0.1:${port}` });
  servers.push(full, await servePlain(), await serveGuarded());
});

afterAll(() => Promise.all(servers.map((server) => server.close())));

async function runOverGrpc(sdk: Sdk): Promise<Report> {
  const [full = "", plain = "", guarded = ""] = servers.map(({ url }) => url);
  return runClient(sdk, "GRPC", { full, plain, guarded: { guarded, ...(await secrets()) } });
}

describe.runIf(python?.installed === true || complete)("a URL of gRPC in the card of 0.3", () => {
  it("a URL of gRPC can be called from Python with the same results as host:port", async () => {
    if (python === undefined) throw new TypeError("there is no Python of 0.3");
    const { name: release, command, clientProgram, installed } = python;
    const report = await runOverGrpc({ name: release, command, program: [clientProgram], installed });
    const failed = Object.keys(casesAsClient(python)).filter((name) => report.outcomes.get(name)?.ok !== true);
    const failures = failed.filter(
      (name) => deviationOf(clientDeviations, { release, binding: "GRPC", name }) === undefined,
    );
    expect(failures, report.end).toEqual([]);
    expect(report.outcomes.get("message")?.ok).toBe(true);
  });
});

describe.each(dialed)("a URL of gRPC in the card of 0.3, read by $name", ({ client }) => {
  it.runIf(client.installed || complete)(
    "a URL of gRPC in the card of 0.3 is dialed as it is, which leads nowhere",
    async () => {
      const { outcomes, end } = await runOverGrpc(client);
      expect(outcomes.get("message"), end).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/Name resolution failed|invalid target address/),
      });
    },
  );
});
