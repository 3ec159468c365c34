// Entry `trivium/testing`: for tests of agents, and of custom stores and signals. It needs no test runner.
export type { Head, PushStore, RateDraw, RateGrant, RateStore, Signals, TaskStore } from "../core/ports.js";
export { type ConnectToOptions, connectTo } from "./connect-to.js";
export { type PushStoreContractOptions, pushStoreContract } from "./contract/push-store.js";
export { type RateStoreContractOptions, rateStoreContract } from "./contract/rate-store.js";
export { signalsContract } from "./contract/signals.js";
export type {
  ContractTest,
  MakePushStore,
  MakeRateStore,
  MakeSignals,
  MakeTaskStore,
  PushSubject,
  RateSubject,
  Subject,
} from "./contract/suite.js";
export { type TaskStoreContractOptions, taskStoreContract } from "./contract/task-store.js";
export { createTestClock, settle, type TestClock, type TestClockOptions, turnUntil } from "./test-clock.js";
export { type WaitForOptions, waitFor } from "./wait-for.js";
