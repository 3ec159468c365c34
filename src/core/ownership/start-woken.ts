import type { JsonValue } from "@bufbuild/protobuf";
import { restorePrincipal } from "../../protocol/context.js";
import type { StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import type { Draft } from "../task/record.js";
import { causeOf, readOrigin } from "../turn/origin.js";
import { claimTurn } from "./claim-turn.js";
import { continueTask } from "./continue-task.js";

interface WokenTurn {
  /** Data of the wake. */
  readonly wake?: JsonValue | undefined;
  /** Id of the wake in the inbox of a turn that has not ended: its process has gone. */
  readonly replacedEntry?: string | undefined;
}

/** Starts the turn of a wake, in room that the caller has taken. Returns false when another process was faster. */
export async function startWoken(
  runtime: Runtime,
  storedTask: StoredTask,
  { wake, replacedEntry }: WokenTurn = {},
): Promise<boolean> {
  const { scope } = storedTask.head;
  const origin = await readOrigin(runtime, storedTask);
  const { messageSeq: message, entry, send } = origin;
  const live = await continueTask(runtime, storedTask);
  // Entries may have been put while another process held the task, so their number is unknown.
  if (replacedEntry !== undefined) live.setInboxPut(-1);
  const endDrafts: readonly Draft[] = replacedEntry === undefined ? [] : [{ kind: "turnEnded" }];
  const takes = replacedEntry === undefined ? undefined : [replacedEntry];
  const turn = live.turn + 1;
  const trace = runtime.telemetry?.wake({ taskId: live.id, contextId: live.contextId }, causeOf(origin));
  const startDraft: Draft = { kind: "turnStarted", turn, attempt: 1, cause: "wake", wake, message, trace };
  const principal = restorePrincipal(scope, send);
  const start = (): void =>
    runtime.startTurn({ cause: "wake", attempt: 1, principal, scope, entry, send, wake, trace }, { live });
  const outcome = await claimTurn(runtime, live, { turn, drafts: [...endDrafts, startDraft], takes, start });
  if (outcome === "claimed") start();
  return outcome === "claimed";
}
