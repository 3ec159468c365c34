import type { TaskPushNotificationConfig } from "./model.js";

/**
 * A push configuration as it is told to callers: without what the webhook is called with. Whoever may read a task, or the
 * log of a proxy, could otherwise forge its notifications.
 */
export function withoutSecrets(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { authentication } = config;
  if (config.token === "" && (authentication?.credentials ?? "") === "") return config;
  if (authentication === undefined) return { ...config, token: "" };
  return { ...config, token: "", authentication: { ...authentication, credentials: "" } };
}
