import { expect, it } from "vitest";
import { createExample } from "../package/project.js";

it("an agent is tested in vitest, without a port", async () => {
  const project = await createExample("testing");
  const { code, output } = await project.run(process.execPath, "node_modules/vitest/vitest.mjs", "run", "--no-color");
  expect(output).toMatch(/Tests +7 passed/);
  expect(code).toBe(0);
});
