import type { ESTree } from "rolldown/utils";
import { callText, type DocReader, typeText } from "./text.ts";

/** A member of an interface or a class. */
export interface Member {
  readonly name: string;
  readonly optional: boolean;
  /** A type, or the signature of a method. */
  readonly type: string;
  readonly doc: string;
}

/** Where a declaration is read from. */
export interface Place {
  readonly file: string;
  readonly source: string;
  readonly docOf: DocReader;
}

export function interfaceMember(member: ESTree.TSSignature, { source, docOf }: Place): readonly Member[] {
  if (member.type === "TSPropertySignature" && member.key.type === "Identifier" && !member.computed) {
    const type = member.typeAnnotation === null ? "unknown" : typeText(member.typeAnnotation.typeAnnotation, source);
    const optional = member.optional ?? false;
    return [
      {
        name: member.key.name,
        optional,
        type: optional ? type.replace(/ \| undefined$/, "").replace(/^\((\(.*)\)$/, "$1") : type,
        doc: docOf(member),
      },
    ];
  }
  if (member.type === "TSMethodSignature" && member.key.type === "Identifier" && !member.computed) {
    return [
      {
        name: member.key.name,
        optional: member.optional ?? false,
        type: callText(member, source, " => "),
        doc: docOf(member),
      },
    ];
  }
  return [];
}

export function classMembers(body: readonly ESTree.ClassElement[], { source, docOf }: Place): readonly Member[] {
  return body.flatMap((member): readonly Member[] => {
    if (member.type !== "PropertyDefinition" && member.type !== "MethodDefinition") return [];
    if (member.key.type !== "Identifier" || member.computed || member.static) return [];
    if (member.accessibility === "private" || member.accessibility === "protected") return [];
    const { name } = member.key;
    const doc = docOf(member);
    if ("kind" in member) return classMethod(name, member, { source, doc });
    const literal = member.value?.type === "Literal" ? member.value : undefined;
    const type = member.typeAnnotation?.typeAnnotation ?? literal;
    return type === undefined ? [] : [{ name, optional: false, type: typeText(type, source), doc }];
  });
}

function classMethod(
  name: string,
  { kind, value }: ESTree.MethodDefinition,
  { source, doc }: { readonly source: string; readonly doc: string },
): readonly Member[] {
  if (kind === "get") {
    const type = value.returnType?.typeAnnotation;
    return [{ name, optional: false, type: type === undefined ? "unknown" : typeText(type, source), doc }];
  }
  // The implementation of overloads has no docstring.
  if (kind !== "method" || doc === "") return [];
  return [{ name, optional: false, type: callText(value, source, " => "), doc }];
}
