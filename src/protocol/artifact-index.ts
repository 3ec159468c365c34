import type { Artifact } from "./model.js";

/** Up to this many artifacts a search is as fast as an index. */
const searchedMax = 32;

const indexes = new WeakMap<readonly Artifact[], Map<string, number>>();

/**
 * Returns where the artifact with an id is, or -1. The list may grow and its artifacts may be replaced by others of the same
 * id, as a fold does; then a lookup costs the same however many artifacts there are.
 */
export function artifactIndex(artifacts: readonly Artifact[], artifactId: string): number {
  // The artifact that is being written is almost always the last one.
  if (artifacts.at(-1)?.artifactId === artifactId) return artifacts.length - 1;
  if (artifacts.length <= searchedMax) return artifacts.findLastIndex((each) => each.artifactId === artifactId);
  let index = indexes.get(artifacts);
  if (index === undefined) {
    index = new Map();
    indexes.set(artifacts, index);
  }
  // Where two have one id, the last of them counts, and the index stays behind by one.
  for (let at = index.size; at < artifacts.length; at++) index.set(artifacts[at]?.artifactId ?? "", at);
  return index.get(artifactId) ?? -1;
}
