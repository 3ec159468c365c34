// Entry `trivium/a2a-js`: hosts executors of `@a2a-js/sdk`, without that package.
export type {
  AgentExecutor,
  AgentExecutorV03,
  ExecutionEvent,
  ExecutionEventBus,
  ExecutionEventV03,
  RequestContext,
  RequestContextV03,
} from "./executor.js";
export { type FromExecutorOptions, fromExecutor } from "./from-executor.js";
