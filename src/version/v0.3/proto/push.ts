import { type TaskPushNotificationConfig, typeNames } from "../../../protocol/model.js";
import { addViolation, prefixMember, type Violations } from "../../../protocol/violations.js";
import {
  type WireAuthentication,
  type WireCreateRequest,
  type WirePushConfig,
  type WireTaskConfig,
  wireTypeNames,
} from "./model.js";
import { configName, findConfigName } from "./names.js";

// Push configurations. In 0.3's schema the webhook is a message of its own, next to the resource name.

export function readPushConfig(wire: WirePushConfig | undefined, taskId = ""): TaskPushNotificationConfig {
  const { id = "", url = "", token = "", authentication } = wire ?? {};
  const config: TaskPushNotificationConfig = {
    $typeName: typeNames.TaskPushNotificationConfig,
    tenant: "",
    ...{ id, taskId, url, token },
  };
  if (authentication !== undefined) {
    const { schemes, credentials } = authentication;
    // The model has one scheme. Without a scheme and credentials there is no authentication.
    const [scheme = ""] = schemes;
    if (scheme !== "" || credentials !== "") {
      config.authentication = { $typeName: typeNames.AuthenticationInfo, scheme, credentials };
    }
  }
  return config;
}

export function writePushConfig({ id, url, token, authentication }: TaskPushNotificationConfig): WirePushConfig {
  const wire: WirePushConfig = { $typeName: wireTypeNames.PushNotificationConfig, ...{ id, url, token } };
  if (authentication !== undefined) wire.authentication = writeAuthentication(authentication);
  return wire;
}

type Authentication = NonNullable<TaskPushNotificationConfig["authentication"]>;

function writeAuthentication({ scheme, credentials }: Authentication): WireAuthentication {
  return { $typeName: wireTypeNames.AuthenticationInfo, schemes: scheme === "" ? [] : [scheme], credentials };
}

/**
 * Reads a configuration in a reply. Its own id takes precedence over the one in the name, which some SDKs get wrong.
 */
export function readTaskConfig({ name, pushNotificationConfig }: WireTaskConfig): TaskPushNotificationConfig {
  const nameParts = findConfigName(name);
  const config = readPushConfig(pushNotificationConfig, nameParts?.taskId);
  config.id ||= nameParts?.id ?? "";
  return config;
}

export function writeTaskConfig(config: TaskPushNotificationConfig): WireTaskConfig {
  return {
    $typeName: wireTypeNames.TaskPushNotificationConfig,
    // A configuration without an id gets no name: one with an empty id would refer to another.
    name: config.id === "" ? "" : configName(config),
    pushNotificationConfig: writePushConfig(config),
  };
}

/** Reads the request that creates a configuration. */
export function readCreate(
  { configId, config }: WireCreateRequest,
  taskId: string,
  violations: Violations,
): TaskPushNotificationConfig {
  const pushConfig = config?.pushNotificationConfig;
  if (pushConfig === undefined) {
    const before = violations.length;
    addViolation(violations, "is required");
    prefixMember(violations, before, "config.pushNotificationConfig");
  }
  const model = readPushConfig(pushConfig, taskId);
  model.id ||= configId;
  return model;
}
