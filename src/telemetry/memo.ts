/**
 * A function that makes the value of each key once. Calls are short: attributes that many have in common are made before.
 * Keys must be few.
 */
export function memoized<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
