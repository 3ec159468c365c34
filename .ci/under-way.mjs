// A reporter for runs that are stopped: writes the report that vitest writes at the end (`--outputFile.json`) with what is known
// until then. Tests that are under way are pending in it.
import { writeFileSync } from "node:fs";

export default class UnderWay {
  /** By file: vitest has another object for a file once it knows its tests. */
  #modules = new Map();
  #begun = new Set();
  #isOver = false;

  onInit({ config }) {
    const file = config.outputFile?.json;
    process.once("exit", () => {
      if (!this.#isOver && file !== undefined) writeFileSync(file, JSON.stringify({ testResults: this.#results() }));
    });
  }

  onTestModuleQueued(module) {
    this.#modules.set(module.moduleId, module);
  }

  onTestModuleCollected(module) {
    this.#modules.set(module.moduleId, module);
  }

  onTestCaseReady(test) {
    this.#begun.add(test);
  }

  onTestRunEnd() {
    this.#isOver = true;
  }

  #results() {
    return [...this.#modules.values()].map((module) => {
      const tests = [...module.children.allTests()];
      const known = tests.filter((test) => test.result().state !== "pending" || this.#begun.has(test));
      const isUnderWay = module.state() === "pending" || module.state() === "queued";
      // A hook, or the loading of the file.
      const other = isUnderWay && known.every((test) => test.result().state !== "pending");
      return {
        name: module.moduleId,
        assertionResults: [
          ...known.map((test) => ({
            fullName: test.fullName,
            status: test.result().state,
            failureMessages: (test.result().errors ?? []).map(({ stack, message }) => stack ?? message),
          })),
          ...(other ? [{ fullName: "(a hook, or its loading)", status: "pending" }] : []),
        ],
      };
    });
  }
}
