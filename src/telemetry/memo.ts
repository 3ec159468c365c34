/** Makes the value of each key once, and keeps it: keys must be few. Saves making the same attributes for every call. */
export function memoize<K, V>(make: (key: K) => V): (key: K) => V {
  const values = new Map<K, V>();
  return (key) => {
    const existing = values.get(key);
    if (existing !== undefined) return existing;
    const value = make(key);
    values.set(key, value);
    return value;
  };
}
