import { isObject } from "../protocol/kinds.js";

/** Freezes an object that was read from JSON and is shared with no one, with everything in it. Returns it. */
export function freezeJson<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (isObject(member)) freezeJson(member);
  return Object.freeze(value);
}

/** Whether a value from JSON has lists and objects within each other to more than these levels. */
export function exceedsDepth(levels: number, value: unknown): boolean {
  if (!isObject(value)) return false;
  return levels === 0 || Object.values(value).some((member) => exceedsDepth(levels - 1, member));
}

/** A copy of plain objects and lists that cannot be changed, to any depth; other values stay as they are. */
export function copyFrozen<T>(value: T): T {
  return copyInto(value, new Map()) as T;
}

function copyInto(value: unknown, copies: Map<object, object>): unknown {
  if (!isObject(value)) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const before = copies.get(value);
  if (before !== undefined) return before;
  const copy: object = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value));
  copies.set(value, copy);
  for (const [name, member] of Object.entries(value)) {
    // Defined, not set: a claim may be called `__proto__`.
    Object.defineProperty(copy, name, { value: copyInto(member, copies), enumerable: true });
  }
  return Object.freeze(copy);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
