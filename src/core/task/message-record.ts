import type { QueuedSend, SendContext } from "../ports.js";
import type { Draft } from "./draft.js";

/** The draft record of a caller's message, with the ids of its task and the context of its send. */
export function messageDraft(
  live: { readonly id: string; readonly contextId: string },
  entry: string,
  send: QueuedSend,
): Draft {
  const message = { ...send.message, taskId: live.id, contextId: live.contextId };
  const { configuration, metadata, extensions, principal, trace } = withoutPush(send);
  const isPlain = [configuration, metadata, principal, trace].every((member) => member === undefined);
  if (isPlain && extensions.length === 0) return { kind: "message", entry, message };
  return { kind: "message", entry, message, context: { configuration, metadata, extensions, principal, trace } };
}

/** A send's context without its push configuration, which is stored elsewhere with its credentials. */
export function withoutPush<T extends SendContext>(send: T): T {
  if (send.configuration?.taskPushNotificationConfig === undefined) return send;
  const { taskPushNotificationConfig: _, ...configuration } = send.configuration;
  return { ...send, configuration };
}
