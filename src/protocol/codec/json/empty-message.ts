import { type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { type DynamicMessage, isOneof } from "../outline/dynamic.js";
import { scalarOf } from "./scalars.js";

/** Creates messages in the form of protobuf-es' `create`: fields with presence are absent until set. */
export function emptyMessage(desc: DescMessage): () => DynamicMessage {
  const template: DynamicMessage = { $typeName: desc.typeName };
  const [oneofs, lists, maps]: [string[], string[], string[]] = [[], [], []];
  for (const member of desc.members) {
    const name = member.localName;
    if (isOneof(member)) oneofs.push(name);
    else if (member.fieldKind === "list") lists.push(name);
    else if (member.fieldKind === "map") maps.push(name);
    else if (member.fieldKind === "message" || member.proto.proto3Optional) continue;
    template[name] = findZero(member);
  }
  return () => {
    // Copying the whole template costs less than setting each member; then come the members that no two messages share.
    const message = { ...template };
    for (const name of oneofs) message[name] = { case: undefined };
    for (const name of lists) message[name] = [];
    for (const name of maps) message[name] = {};
    return message;
  };
}

function findZero(member: DescField | DescOneof): unknown {
  if (isOneof(member)) return undefined;
  if (member.fieldKind === "enum") return 0;
  if (member.fieldKind !== "scalar") return undefined;
  const { scalar } = member;
  return scalar === ScalarType.INT64 || scalar === ScalarType.UINT64 ? 0n : scalarOf(scalar).zero;
}
