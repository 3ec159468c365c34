import { argv, stdout } from "node:process";
import { scenarios } from "../browser/scenarios.js";
import { type Locations, runtimeScenarios } from "./scenarios.js";

// Runs a scenario in a runtime, prints its result, and does not exit explicitly: anything still open keeps the process
// alive.

const all: Readonly<Record<string, (places: Locations) => Promise<unknown>>> = { ...scenarios, ...runtimeScenarios };
const [name = "", places = "{}"] = argv.slice(2);
const result = await all[name]?.(JSON.parse(places));
stdout.write(`${JSON.stringify(result)}\n`);
