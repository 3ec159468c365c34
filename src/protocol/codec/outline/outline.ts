import { createFileRegistry, type DescFile } from "@bufbuild/protobuf";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FieldOptions,
  FileDescriptorProto,
  MethodDescriptorProto,
  ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";

// Builds descriptors from the outline that `buf generate` writes for a schema. They equal those that protobuf-es builds
// from the binary form, without the options that nothing uses. Reading the binary form would be the largest part of
// what a page has to load.

/** Name, number, type, flags, oneof, and the JSON name if it differs; see `scripts/protoc-gen-outline.ts`. */
type FieldOutline = readonly [
  name: string,
  number: number,
  type: number | string,
  marks?: string,
  oneof?: string,
  jsonName?: string,
];

type MethodOutline = readonly [name: string, input: string, output: string, marks: string, httpRule: string];

/** One file of a schema. */
export interface FileOutline {
  readonly name: string;
  readonly package: string;
  readonly imports: readonly string[];
  readonly enums: { readonly [name: string]: { readonly [word: string]: number } };
  readonly messages: { readonly [name: string]: readonly FieldOutline[] };
  readonly services: { readonly [name: string]: readonly MethodOutline[] };
}

/** Numbers of the options that are read: `google.api.field_behavior` and `google.api.http`. */
export const fieldBehaviorOption = 1052;
export const httpOption = 72_295_728;
/** `REQUIRED` among the field behaviors. */
export const requiredBehavior = 2;

const labels = { optional: 1, repeated: 3 };
const types = { string: 9, message: 11, enum: 14 };
const wireTypes = { varint: 0, bytes: 2 };

/** Builds the descriptors of files, each listed after its imports. Returns the descriptor of the last file. */
export function fileFromOutlines(outlines: readonly FileOutline[]): DescFile {
  const files: DescFile[] = [];
  let last: DescFile | undefined;
  for (const outline of outlines) {
    const registry = createFileRegistry(fileProto(outline), (name) => files.find(({ proto }) => proto.name === name));
    last = registry.getFile(outline.name);
    if (last !== undefined) files.push(last);
  }
  if (last === undefined) throw new TypeError("an outline of no files");
  return last;
}

// An unset member is inherited, which distinguishes it from one that was set to its default.
function inherit<T>(defaults: object, own: object): T {
  return Object.assign(Object.create(defaults), own);
}

const noEntries: never[] = [];
const fileDefaults = {
  $typeName: "google.protobuf.FileDescriptorProto",
  publicDependency: noEntries,
  weakDependency: noEntries,
  optionDependency: noEntries,
  extension: noEntries,
  edition: 0,
};
const messageDefaults = {
  $typeName: "google.protobuf.DescriptorProto",
  extension: noEntries,
  nestedType: noEntries,
  enumType: noEntries,
  extensionRange: noEntries,
  oneofDecl: noEntries,
  reservedRange: noEntries,
  reservedName: noEntries,
  visibility: 0,
};
const fieldDefaults = {
  $typeName: "google.protobuf.FieldDescriptorProto",
  label: labels.optional,
  typeName: "",
  extendee: "",
  defaultValue: "",
  oneofIndex: 0,
  jsonName: "",
  proto3Optional: false,
};

function fileProto(outline: FileOutline): FileDescriptorProto {
  const { name, package: scope, imports, enums, messages, services } = outline;
  return inherit(fileDefaults, {
    name,
    package: scope,
    syntax: "proto3",
    dependency: [...imports],
    enumType: Object.entries(enums).map(enumProto),
    messageType: Object.entries(messages).map(([message, fields]) => messageProto(outline, message, fields)),
    service: Object.entries(services).map(([service, methods]) =>
      inherit<ServiceDescriptorProto>(
        {},
        { name: service, method: methods.map((method) => methodProto(scope, method)) },
      ),
    ),
  });
}

function enumProto([name, words]: [string, { readonly [word: string]: number }]): EnumDescriptorProto {
  const defaults = { reservedRange: noEntries, reservedName: noEntries, visibility: 0 };
  const value = Object.entries(words).map(([word, number]) => ({ name: word, number }));
  return inherit(defaults, { name, value });
}

function messageProto(outline: FileOutline, name: string, fields: readonly FieldOutline[]): DescriptorProto {
  const oneofs = [...new Set(fields.flatMap(([, , , , oneof = ""]) => (oneof === "" ? [] : oneof)))];
  const entries: DescriptorProto[] = [];
  const field = fields.map(([own, number, type, marks = "", oneof = "", jsonName]) => {
    const proto = fieldProto(outline, [own, number, type]);
    proto.jsonName = jsonName ?? camelCase(own);
    if (/[lm]/.test(marks)) proto.label = labels.repeated;
    if (marks.includes("o")) proto.proto3Optional = true;
    if (/[rd]/.test(marks)) proto.options = fieldOptions(marks);
    if (oneof !== "") proto.oneofIndex = oneofs.indexOf(oneof);
    if (marks.includes("m")) {
      const entry = `${proto.jsonName}Entry`;
      entries.push(mapEntryProto(outline, entry, type));
      proto.type = types.message;
      proto.typeName = `.${outline.package}.${name}.${entry}`;
    }
    return proto;
  });
  const oneofDecl = oneofs.map((oneof) => ({ name: oneof }));
  return inherit(messageDefaults, { name, field, nestedType: entries, oneofDecl });
}

function mapEntryProto(outline: FileOutline, name: string, type: FieldOutline[2]): DescriptorProto {
  const field = [fieldProto(outline, ["key", 1, types.string]), fieldProto(outline, ["value", 2, type])];
  return inherit(messageDefaults, { name, field, options: { mapEntry: true } });
}

function fieldProto(outline: FileOutline, [name, number, type]: FieldOutline): FieldDescriptorProto {
  const proto = { name, number, jsonName: name };
  if (typeof type === "number") return inherit(fieldDefaults, { ...proto, type });
  const typeName = absoluteName(outline.package, type);
  return inherit(fieldDefaults, { ...proto, type: type in outline.enums ? types.enum : types.message, typeName });
}

function fieldOptions(marks: string): FieldOptions {
  const data = Uint8Array.of(requiredBehavior);
  const $unknown = marks.includes("r") ? [{ no: fieldBehaviorOption, wireType: wireTypes.varint, data }] : [];
  return inherit({}, { $unknown, deprecated: marks.includes("d") });
}

function methodProto(scope: string, [name, input, output, marks, rule]: MethodOutline): MethodDescriptorProto {
  const data = Uint8Array.from(rule, (character) => character.charCodeAt(0));
  return inherit(
    { clientStreaming: false },
    {
      name,
      inputType: absoluteName(scope, input),
      outputType: absoluteName(scope, output),
      serverStreaming: marks.includes("s"),
      options: { $unknown: [{ no: httpOption, wireType: wireTypes.bytes, data }] },
    },
  );
}

function absoluteName(scope: string, name: string): string {
  return name.startsWith(".") ? name : `.${scope}.${name}`;
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, payload: string) => payload.toUpperCase());
}
