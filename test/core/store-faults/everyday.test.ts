import { describeScenarios } from "./holds.js";
import { everyday } from "./scenarios.js";

describeScenarios(everyday);
