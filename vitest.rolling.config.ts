import { defineConfig, mergeConfig } from "vitest/config";
import base, { rolling } from "./vitest.replicas.config.js";

// Rolling restarts behind three proxies, with the official SDKs as callers: ten busy processes, whose checks and refusals
// run by the clock. CI runs it when nothing else runs.
const alone = mergeConfig(base, {});
alone.test.include = [...rolling];
alone.test.exclude = [];

export default defineConfig(alone);
