import { type Scenario, scenarios, type Target } from "./scenarios.js";

// The page's module: runs a scenario in the page or in a worker.

interface ModuleWorker {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: ((event: { readonly message?: string }) => void) | null;
  postMessage(message: unknown): void;
  terminate(): void;
}

declare const Worker: new (url: string, options: { readonly type: "module" }) => ModuleWorker;

Object.assign(globalThis, {
  inPage: (name: Scenario, target: Target) => scenarios[name](target),
  inWorker(name: Scenario, target: Target) {
    const worker = new Worker("/worker.js", { type: "module" });
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage({ name, target });
    });
  },
});
