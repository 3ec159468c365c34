import { describeScenarios } from "./idempotency-claims.js";
import { hardDays } from "./scenarios.js";

describeScenarios(hardDays);
