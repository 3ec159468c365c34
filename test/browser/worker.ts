import { type Scenario, scenarios, type Target } from "./scenarios.js";

// The worker's module: runs the scenario that it receives.

interface WorkerScope {
  onmessage: (event: { readonly data: { readonly name: Scenario; readonly target: Target } }) => void;
  postMessage(message: unknown): void;
}

declare const self: WorkerScope;

self.onmessage = ({ data: { name, target } }) => {
  scenarios[name](target).then(
    (result) => self.postMessage(result),
    (error: unknown) => self.postMessage({ threw: String(error) }),
  );
};
