import { type Step, type StepStream, streamOfSteps } from "../../protocol/async/steps.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isLastEvent } from "./finals.js";

/**
 * The stream of a message to a task that is there already. Its last status is told when the stream has ended behind it:
 * clients up to 0.3 read nothing that comes later, and would not hear that the task has ended without taking their message.
 */
export function wholeTurn(source: AsyncIterable<StreamItem>): StepStream<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let ahead: Step<StreamItem> | undefined;
  const next = async (): Promise<Step<StreamItem>> => {
    const held = ahead;
    ahead = undefined;
    const step: Step<StreamItem> = held ?? (await items.next());
    if (step.done !== true && isLastEvent(step.value.response)) ahead = await items.next();
    return step;
  };
  return streamOfSteps(next, () => items.return?.());
}
