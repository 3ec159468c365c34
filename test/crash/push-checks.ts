import { expect } from "vitest";
import { TaskState } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { isTerminal } from "../../src/protocol/states.js";
import { itemsOf } from "../support/items.js";
import { textIn } from "../support/say.js";
import type { Configured, KnownTask } from "./ledger.js";
import type { Scene } from "./scene.js";

/** Checks that every notification owed for a task reached its webhook, including those of killed processes. */
export async function checkNotifications(scene: Scene, knownTask: KnownTask): Promise<void> {
  if (knownTask.configured.length === 0) return;
  const { ledger, patienceMs: timeout } = scene;
  const first = knownTask.seen.find(({ items }) => items.length > 0)?.items[0];
  const log = first === undefined ? [] : await replay(scene, knownTask.id, first);
  const end = log.findLast(isEnd);
  for (const configured of knownTask.configured) {
    const owed = configured.fromStart ? log.flatMap(labelOf) : end === undefined ? [] : labelOf(end);
    const missing = (): readonly string[] => {
      const called = calledAt(scene, configured);
      return owed.filter((label) => !called.has(label));
    };
    try {
      await expect.poll(missing, { timeout, interval: 50 }).toEqual([]);
      ledger.tally.notifications += owed.length;
    } catch {
      ledger.faults.push(
        `task ${knownTask.id}: ${configured.path} was not told of ${missing()}, only of ${[...calledAt(scene, configured)]}`,
      );
    }
  }
}

function replay({ callers }: Scene, id: string, { id: after }: StreamItem): Promise<StreamItem[]> {
  return itemsOf(callers.of.JSONRPC.subscribeToTask({ id }, { after }));
}

// Labels a status by its time, and a complete artifact by its content.
function labelOf({ response: { payload } }: StreamItem): readonly string[] {
  if (payload.case === "statusUpdate") {
    const { state = TaskState.UNSPECIFIED, timestamp } = payload.value.status ?? {};
    const ms = Number(timestamp?.seconds ?? 0) * 1000 + Math.floor((timestamp?.nanos ?? 0) / 1e6);
    return [`TASK_STATE_${TaskState[state]} ${ms}`];
  }
  if (payload.case !== "artifactUpdate" || !payload.value.lastChunk) return [];
  return [`${payload.value.artifact?.artifactId} to ${lastLine(textIn(payload.value.artifact?.parts))}`];
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

function isEnd({ response: { payload } }: StreamItem): boolean {
  return payload.case === "statusUpdate" && isTerminal(payload.value.status?.state ?? TaskState.UNSPECIFIED);
}

interface Body {
  readonly statusUpdate?: { readonly status: { readonly state: string; readonly timestamp: string } };
  readonly artifactUpdate?: {
    readonly artifact: { readonly artifactId: string; readonly parts: readonly { readonly text?: string }[] };
  };
}

function calledAt({ webhook }: Scene, { path }: Configured): ReadonlySet<string> {
  return new Set(
    webhook.calls.flatMap((call) => {
      if (call.path !== path) return [];
      const { statusUpdate, artifactUpdate }: Body = JSON.parse(call.text);
      if (statusUpdate !== undefined) {
        return [`${statusUpdate.status.state} ${Date.parse(statusUpdate.status.timestamp)}`];
      }
      if (artifactUpdate === undefined) return [];
      const { artifactId, parts } = artifactUpdate.artifact;
      return [`${artifactId} to ${lastLine(parts.map(({ text = "" }) => text).join(""))}`];
    }),
  );
}
