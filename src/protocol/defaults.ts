/** Leaves out the members that are `undefined`. */
export function omitUndefined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Fills in the defaults of members that are missing or `undefined`. */
export function withDefaults<T extends object>(defaults: T, given: Partial<T> = {}): T {
  return { ...defaults, ...omitUndefined(given) };
}
