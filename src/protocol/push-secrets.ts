import type { TaskPushNotificationConfig } from "./model.js";

/**
 * A push configuration for callers: without its token and credentials. Otherwise, anyone who may read a task, or the log of
 * a proxy, could forge its notifications.
 */
export function withoutSecrets(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { authentication } = config;
  if (config.token === "" && (authentication?.credentials ?? "") === "") return config;
  if (authentication === undefined) return { ...config, token: "" };
  return { ...config, token: "", authentication: { ...authentication, credentials: "" } };
}
