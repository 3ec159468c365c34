import { type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { type DynamicMessage, isOneof } from "./dynamic.js";
import { scalarOf } from "./json-scalars.js";

/** Makes messages in the form of protobuf-es' `create`: fields with presence are absent until they are set. */
export function emptyMessage(desc: DescMessage): () => DynamicMessage {
  const members = desc.members.map(emptyMember).filter((member) => member !== undefined);
  const template: DynamicMessage = { $typeName: desc.typeName };
  for (const { name, zero } of members) template[name] = zero;
  const own = members.filter(({ make }) => make !== undefined);
  return () => {
    // Copied as a whole, which costs less than setting member by member.
    const message = { ...template };
    for (const { name, make } of own) message[name] = make?.();
    return message;
  };
}

interface EmptyMember {
  readonly name: string;
  readonly zero?: unknown;
  /** For what each message has an own one of. */
  readonly make?: () => unknown;
}

function emptyMember(member: DescField | DescOneof): EmptyMember | undefined {
  const name = member.localName;
  if (isOneof(member)) return { name, make: () => ({ case: undefined }) };
  if (member.fieldKind === "list") return { name, make: () => [] };
  if (member.fieldKind === "map") return { name, make: () => ({}) };
  if (member.fieldKind === "message" || member.proto.proto3Optional) return undefined;
  return { name, zero: member.fieldKind === "enum" ? 0 : zeroOf(member.scalar) };
}

function zeroOf(scalar: ScalarType): unknown {
  return scalar === ScalarType.INT64 || scalar === ScalarType.UINT64 ? 0n : scalarOf(scalar).zero;
}
