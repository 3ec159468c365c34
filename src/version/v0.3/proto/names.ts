import { addViolation, underMember, type Violations } from "../../../protocol/violations.js";

// 0.3's schema says ids as names of resources: `tasks/{task}` and `tasks/{task}/pushNotificationConfigs/{configuration}`.
// Peers do not escape their parts, so a task's id holds no slash; that of a configuration is the last part and may.

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

/** The task of a name; notes a name of another form as a fault of `field`. */
export function readTaskName(name: string, field: string, violations: Violations): string {
  const [, id] = /^tasks\/([^/]+)$/.exec(name) ?? [];
  if (id === undefined) noteForm(field, "tasks/{id}", violations);
  return id ?? "";
}

/** The configuration of a name; notes a name of another form. One that ends behind the collection names none. */
export function readConfigName(name: string, field: string, violations: Violations): ConfigName {
  const found = findConfigName(name);
  if (found === undefined) noteForm(field, "tasks/{id}/pushNotificationConfigs/{id}", violations);
  return found ?? { taskId: "", id: "" };
}

/** The same of a peer's reply, where a name may say anything. One SDK writes `None` where it has no id. */
export function findConfigName(name: string): ConfigName | undefined {
  const [, taskId, id = ""] = /^tasks\/([^/]+)\/pushNotificationConfigs(?:\/(.*))?$/s.exec(name) ?? [];
  return taskId === undefined ? undefined : { taskId, id: id === "None" ? "" : id };
}

function noteForm(field: string, form: string, violations: Violations): void {
  const before = violations.length;
  addViolation(violations, `must be of the form ${form}`);
  underMember(violations, before, field);
}
