import { describeScenarios } from "./holds.js";
import { hardDays } from "./scenarios.js";

describeScenarios(hardDays);
