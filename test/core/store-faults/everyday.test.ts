import { describeScenarios } from "./idempotency-claims.js";
import { everyday } from "./scenarios.js";

describeScenarios(everyday);
