/** Runs work in steps to its end, and resolves with what the last step returns. */
export async function runSteps<T>(steps: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
