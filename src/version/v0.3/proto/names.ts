import { addViolation, prefixMember, type Violations } from "../../../protocol/violations.js";

// 0.3's schema encodes ids as resource names: `tasks/{task}` and
// `tasks/{task}/pushNotificationConfigs/{configuration}`. Peers do not escape them, so a task id has no slash. A
// configuration id comes last and may contain one.

/** A task and one of its push configurations. */
export interface ConfigName {
  readonly taskId: string;
  readonly id: string;
}

export function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

export function configName({ taskId, id }: ConfigName): string {
  return `${taskName(taskId)}/pushNotificationConfigs/${id}`;
}

/** Returns the task id in a name. Records a violation of `field` if the name is malformed. */
export function readTaskName(name: string, field: string, violations: Violations): string {
  const [, id] = /^tasks\/([^/]+)$/.exec(name) ?? [];
  if (id === undefined) noteForm(field, "tasks/{id}", violations);
  return id ?? "";
}

/**
 * Returns the configuration in a name. Records a violation if the name is malformed. The id is empty if the name ends
 * with the collection.
 */
export function readConfigName(name: string, field: string, violations: Violations): ConfigName {
  const config = findConfigName(name);
  if (config === undefined) noteForm(field, "tasks/{id}/pushNotificationConfigs/{id}", violations);
  return config ?? { taskId: "", id: "" };
}

/**
 * Like `readConfigName`, for replies of peers: returns `undefined` for other names. One SDK writes `None` for a missing
 * id.
 */
export function findConfigName(name: string): ConfigName | undefined {
  const [, taskId, id = ""] = /^tasks\/([^/]+)\/pushNotificationConfigs(?:\/(.*))?$/s.exec(name) ?? [];
  return taskId === undefined ? undefined : { taskId, id: id === "None" ? "" : id };
}

function noteForm(field: string, form: string, violations: Violations): void {
  const before = violations.length;
  addViolation(violations, `must be of the form ${form}`);
  prefixMember(violations, before, field);
}
