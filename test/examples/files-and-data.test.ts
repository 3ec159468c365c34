import { afterEach, expect, it } from "vitest";
import { type RunningExample, runExample, startExample } from "../support/example.js";

let server: RunningExample | undefined;
afterEach(() => server?.stop());

it("the example files-and-data takes a file and data, gives both, and says what is wrong with an order", async () => {
  server = await startExample("files-and-data");
  expect((await runExample("files-and-data", [server.url])).split("\n")).toEqual([
    "{ least: 9, greatest: 12, unit: 'm' }",
    "depth.txt text/plain [ '12', '9', '10.5' ]",
    "invalidParams NO_SUCH_COLUMN { columns: 'buoy,depth' } undefined",
    "invalidParams INVALID_PARAMS {} message.parts[1].data.unit",
    "failed row 2 has no depth { reason: 'NOT_A_NUMBER', row: 2 }",
    "",
  ]);
});
