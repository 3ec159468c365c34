import { type Step, type StepStream, streamOfSteps } from "../../protocol/async/steps.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isLastEvent } from "./finals.js";

/**
 * The stream of a message to an existing task. Holds back the last status until the source has ended. Clients up to 0.3
 * stop reading at that status and would miss that the task ended without taking their message.
 */
export function wholeTurn(source: AsyncIterable<StreamItem>): StepStream<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let ahead: Step<StreamItem> | undefined;
  const next = async (): Promise<Step<StreamItem>> => {
    const stepAhead = ahead;
    ahead = undefined;
    const step: Step<StreamItem> = stepAhead ?? (await items.next());
    if (step.done !== true && isLastEvent(step.value.response)) ahead = await items.next();
    return step;
  };
  return streamOfSteps(next, () => items.return?.());
}
