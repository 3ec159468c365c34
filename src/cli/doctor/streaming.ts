import type { AnswerEvent } from "../../client/answer/events.js";
import type { ConnectOptions } from "../../client/options.js";
import { hasEventIds } from "../../protocol/bindings.js";
import type { AgentCard } from "../../protocol/model.js";
import { findCause, hasSecrets } from "./failed-call.js";
import { describeCause, type Finding, findings } from "./finding.js";
import { interfaceOptions } from "./interface-options.js";

export interface StreamingCheck {
  /** Where the card was read. */
  readonly url: string;
  readonly card: AgentCard;
  readonly message: string | undefined;
  readonly options: ConnectOptions;
  /** Whether the server says that it refuses work. Default: false. */
  readonly isUnready?: boolean;
}

/** Shortest stream that can show buffering, in milliseconds. */
const shortestMs = 500;

/** Sends a message over server-sent events, which alone have ids, and compares the times of the events with their times of arrival. */
export async function checkStreaming(check: StreamingCheck): Promise<readonly Finding[]> {
  const { card, message } = check;
  const { warning, failed, skipped } = findings("streaming");
  const agentInterface = card.supportedInterfaces.find(({ protocolBinding }) => hasEventIds(protocolBinding));
  if (card.capabilities?.streaming !== true) return [skipped("the card declares no streaming")];
  if (agentInterface === undefined) return [skipped("the card has no interface over HTTP")];
  if (message === undefined) {
    return [skipped("needs a message to the agent", 'give one that takes the agent some seconds: --send "…"')];
  }
  const { options, withholdReason } = interfaceOptions(check, agentInterface);
  const arrivalTimes: number[] = [];
  const creationTimes: number[] = [];
  try {
    const { Client } = await import("../../client/node.js");
    // Without resuming: the check looks for breaks.
    const limits = { ...options.limits, streamBreaksMax: 0 };
    await using client = await Client.connect(
      { ...card, supportedInterfaces: [agentInterface] },
      { ...options, limits },
    );
    for await (const event of client.stream(message)) {
      arrivalTimes.push(performance.now());
      const time = readTime(event);
      if (time !== undefined) creationTimes.push(time);
    }
  } catch (error) {
    if (arrivalTimes.length === 0) {
      const binding = agentInterface.protocolBinding;
      const call = {
        error,
        binding,
        withholdReason,
        isUnready: check.isUnready === true,
        hasSecrets: hasSecrets(options),
      };
      const cause = findCause(call);
      // The user asked for this message, so any failure counts.
      return [failed(cause.seen, cause.remedy)];
    }
    const remedy = "raise the proxy's timeouts for streams (proxy_read_timeout, timeout server)";
    return [warning(`the stream broke after ${arrivalTimes.length} events: ${describeCause(error)}`, remedy)];
  }
  return [bufferingFinding(creationTimes, arrivalTimes)];
}

function bufferingFinding(creationTimes: readonly number[], arrivalTimes: readonly number[]): Finding {
  const { ok, failed, skipped } = findings("streaming");
  const [creationMs, arrivalMs] = [measureSpan(creationTimes), measureSpan(arrivalTimes)];
  if (creationMs < shortestMs) {
    return skipped(
      `${arrivalTimes.length} events came, too fast to show buffering`,
      "send a message that takes the agent some seconds",
    );
  }
  const spans = `events of ${(creationMs / 1000).toFixed(1)} s came within ${(arrivalMs / 1000).toFixed(1)} s`;
  const remedy =
    "switch response buffering off in the proxy (proxy_buffering off, no compression of text/event-stream)";
  return arrivalMs < creationMs / 2 ? failed(`the stream is buffered: ${spans}`, remedy) : ok(spans);
}

const measureSpan = (times: readonly number[]): number => (times.at(-1) ?? 0) - (times[0] ?? 0);

/** The time of an event by the agent's server, in milliseconds, if it has one. */
function readTime({ response }: AnswerEvent): number | undefined {
  const { payload } = response;
  const status = payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
  const time = status?.timestamp;
  return time === undefined ? undefined : Number(time.seconds) * 1000 + time.nanos / 1e6;
}
