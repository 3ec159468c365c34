import type { QueuedSend, SendContext } from "../ports.js";
import type { Draft } from "./draft.js";

/** A caller's message as the log holds it: with the ids of its task, and with what else its send said. */
export function messageDraft(
  live: { readonly id: string; readonly contextId: string },
  entry: string,
  send: QueuedSend,
): Draft {
  const message = { ...send.message, taskId: live.id, contextId: live.contextId };
  const { configuration, metadata, extensions } = withoutPush(send);
  if (configuration === undefined && metadata === undefined && extensions.length === 0) {
    return { kind: "message", entry, message };
  }
  return { kind: "message", entry, message, context: { configuration, metadata, extensions } };
}

/** What a send says, but for its push configuration: that is kept elsewhere, with its credentials. */
export function withoutPush<T extends SendContext>(send: T): T {
  if (send.configuration?.taskPushNotificationConfig === undefined) return send;
  const { taskPushNotificationConfig: _, ...configuration } = send.configuration;
  return { ...send, configuration };
}
