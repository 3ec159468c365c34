import { equals } from "@bufbuild/protobuf";
import { PartSchema, type TaskStatus } from "../../protocol/model.js";
import type { Normalized } from "../task/normalize.js";

/** Whether an event asks what a status asked already. The ids of their messages differ. */
export function asksTheSame(normal: Normalized, status: TaskStatus | undefined): boolean {
  if (normal.kind !== "status" || normal.event.payload.case !== "statusUpdate") return false;
  const asked = normal.event.payload.value.status;
  if (asked?.state !== status?.state) return false;
  const [parts, before] = [asked?.message?.parts ?? [], status?.message?.parts ?? []];
  return parts.length === before.length && parts.every((part, at) => isSamePart(part, before[at]));
}

type Part = NonNullable<TaskStatus["message"]>["parts"][number];

function isSamePart(part: Part, before: Part | undefined): boolean {
  return before !== undefined && equals(PartSchema, part, before);
}
