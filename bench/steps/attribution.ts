import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapping } from "node:module";
import { fileURLToPath } from "node:url";
import { findStep } from "./step-table.ts";

/** A function in a profile, as V8 names it. Lines and columns count from 0. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** A node of the call tree, with what was measured in it itself. */
export interface ProfileNode {
  readonly frame: CallFrame;
  readonly self: number;
  readonly children: readonly ProfileNode[];
}

/** What was measured, by step and by function, for each call. */
export interface Figures {
  readonly byStep: ReadonlyMap<string, number>;
  readonly byFunction: ReadonlyMap<string, number>;
}

/** Gives each node of a call tree to the step of the innermost function of ours above it. */
export function attribute(root: ProfileNode, calls: number): Figures {
  const byStep = new Map<string, number>();
  const byFunction = new Map<string, number>();
  const visit = (node: ProfileNode, outer: string): void => {
    const { frame, self, children } = node;
    const place = locate(frame);
    const step = special.get(frame.functionName) ?? findStep(place.name) ?? outer;
    add(byStep, step, self / calls);
    add(byFunction, `${step}: ${place.name}:${place.line}`, self / calls);
    for (const child of children) visit(child, step);
  };
  visit(root, "Node");
  return { byStep, byFunction };
}

/** The functions with the largest figures. */
export function mostOf({ byFunction }: Figures, count: number): readonly (readonly [string, number])[] {
  return [...byFunction].sort(([, a], [, b]) => b - a).slice(0, count);
}

/** What V8 names in the place of a function. */
const special: ReadonlyMap<string, string> = new Map([
  ["(garbage collector)", "garbage collection"],
  ["(idle)", "idle"],
]);

interface Place {
  /** `binding/http/call:parseJson` for code of ours, else the address of the file and the function. */
  readonly name: string;
  readonly line: number;
}

const maps = new Map<string, SourceMap | undefined>();

/** Where a function is in the sources. */
function locate({ functionName, url, lineNumber, columnNumber }: CallFrame): Place {
  const entry = url.startsWith("file:") ? readMap(url)?.findEntry(lineNumber, columnNumber) : undefined;
  const { originalSource = url, originalLine = lineNumber } = (entry ?? {}) as Partial<SourceMapping>;
  return { name: `${shorten(originalSource)}:${functionName}`, line: originalLine + 1 };
}

const shortForms: readonly (readonly [RegExp, string])[] = [
  [/^.*\/node_modules\/@bufbuild\/.*$/, "@bufbuild/"],
  [/^.*\/dist\/packages\/.*$/, "@bufbuild/"],
  [/^.*\/node_modules\//, ""],
  [/^.*\/bench\//, "bench/"],
  [/^.*\/src\/(.*)\.ts$/, "$1"],
];

function shorten(path: string): string {
  const [form, short = ""] = shortForms.find(([form]) => form.test(path)) ?? [];
  return form === undefined ? path : path.replace(form, short);
}

function readMap(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, loadMap(url));
  return maps.get(url);
}

function loadMap(url: string): SourceMap | undefined {
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")));
    return map;
  } catch {
    return undefined;
  }
}

function add(figures: Map<string, number>, key: string, figure: number): void {
  figures.set(key, (figures.get(key) ?? 0) + figure);
}
