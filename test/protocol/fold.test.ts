import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyEvent, artifactIndex, emptyTask } from "../../src/protocol/fold.js";
import { type Artifact, ArtifactSchema, StreamResponseSchema } from "../../src/protocol/model.js";

const artifactNamed = (artifactId: string): Artifact => create(ArtifactSchema, { artifactId });

describe("the place of an artifact", () => {
  it("the place of an artifact is that of the last one with the id, while the list grows", () => {
    const ids = fc.constantFrom(...Array.from({ length: 60 }, (_, index) => `a${index}`));
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, ids), { maxLength: 120 }), (steps) => {
        const artifacts: Artifact[] = [];
        for (const [added, historyLength] of steps) {
          artifacts.push(artifactNamed(added));
          const expected = artifacts.findLastIndex(({ artifactId }) => artifactId === historyLength);
          expect(artifactIndex(artifacts, historyLength)).toBe(expected);
        }
      }),
    );
  });

  it("the place of an artifact is found at the same cost among any number of artifacts", () => {
    let reads = 0;
    const task = emptyTask("t", "c");
    const count = 5_000;
    for (let index = 0; index < count; index++) {
      const event = create(StreamResponseSchema, {
        payload: { case: "artifactUpdate", value: { artifact: { artifactId: `a${index}` } } },
      });
      applyEvent(task, event);
      const artifactId = `a${index}`;
      Object.defineProperty(task.artifacts[index], "artifactId", {
        get() {
          reads++;
          return artifactId;
        },
      });
    }
    expect(task.artifacts).toHaveLength(count);
    // Short lists are searched linearly.
    expect(reads).toBeLessThan(4 * count + 32 ** 2);
  });
});
