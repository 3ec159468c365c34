import { argv, stdout } from "node:process";
import { scenarios } from "../browser/scenarios.js";
import { type Locations, runtimeScenarios } from "./scenarios.js";

// Runs the scenario that it is told in a runtime, prints what came of it, and leaves the end to the runtime: whatever is
// still open keeps it.

const all: Readonly<Record<string, (places: Locations) => Promise<unknown>>> = { ...scenarios, ...runtimeScenarios };
const [name = "", places = "{}"] = argv.slice(2);
const result = await all[name]?.(JSON.parse(places));
stdout.write(`${JSON.stringify(result)}\n`);
