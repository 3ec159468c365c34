import type { AnswerEvent } from "../../client/answer/events.js";
import type { ConnectOptions } from "../../client/options.js";
import { bindingNamed } from "../../protocol/bindings.js";
import type { AgentCard } from "../../protocol/model.js";
import { type Finding, findings, reasonOf } from "./finding.js";
import { interfaceOptions } from "./interface-options.js";

export interface StreamingCheck {
  /** Where the card was read. */
  readonly url: string;
  readonly card: AgentCard;
  readonly message: string | undefined;
  readonly options: ConnectOptions;
}

/** An agent that ends sooner says nothing about buffering. */
const shortestMs = 500;

/** Sends a message over server-sent events, and compares when its events were made with when they came. */
export async function checkStreaming(check: StreamingCheck): Promise<readonly Finding[]> {
  const { card, message } = check;
  const { warning, failed, skipped } = findings("streaming");
  const interfaces = card.supportedInterfaces.filter(({ protocolBinding }) => {
    const binding = bindingNamed(protocolBinding);
    return binding === "JSONRPC" || binding === "HTTP+JSON";
  });
  const [first] = interfaces;
  if (card.capabilities?.streaming !== true) return [skipped("the card declares no streaming")];
  if (first === undefined) return [skipped("the card has no interface over HTTP")];
  if (message === undefined) {
    return [skipped("it takes a message to the agent", 'give one that takes the agent some seconds: --send "…"')];
  }
  const came: number[] = [];
  const made: number[] = [];
  try {
    const { Client } = await import("../../client/node.js");
    const { options } = interfaceOptions(check, first);
    // A break is what is looked for: the stream is not resumed.
    const limits = { ...options.limits, streamBreaksMax: 0 };
    await using client = await Client.connect({ ...card, supportedInterfaces: [first] }, { ...options, limits });
    for await (const event of client.stream(message)) {
      came.push(performance.now());
      const time = timeOf(event);
      if (time !== undefined) made.push(time);
    }
  } catch (error) {
    if (came.length === 0) return [failed(reasonOf(error), "read the server's log; trivium send shows the same call")];
    const remedy = "raise the proxy's timeouts for streams (proxy_read_timeout, timeout server)";
    return [warning(`the stream broke after ${came.length} events: ${reasonOf(error)}`, remedy)];
  }
  return [bufferingFinding(made, came)];
}

function bufferingFinding(made: readonly number[], came: readonly number[]): Finding {
  const { ok, failed, skipped } = findings("streaming");
  const [madeMs, cameMs] = [spread(made), spread(came)];
  if (madeMs < shortestMs) {
    return skipped(
      `${came.length} events came, too fast to show buffering`,
      "send a message that takes the agent some seconds",
    );
  }
  const seen = `events of ${(madeMs / 1000).toFixed(1)} s came within ${(cameMs / 1000).toFixed(1)} s`;
  const remedy =
    "switch response buffering off in the proxy (proxy_buffering off, no compression of text/event-stream)";
  return cameMs < madeMs / 2 ? failed(`the stream is buffered: ${seen}`, remedy) : ok(seen);
}

const spread = (times: readonly number[]): number => (times.at(-1) ?? 0) - (times[0] ?? 0);

/** When the agent's server made an event, if it says so. */
function timeOf({ response }: AnswerEvent): number | undefined {
  const { payload } = response;
  const status = payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
  const time = status?.timestamp;
  return time === undefined ? undefined : Number(time.seconds) * 1000 + time.nanos / 1e6;
}
