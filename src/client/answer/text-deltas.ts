import { textOf } from "../../protocol/content/read.js";
import type { Artifact, StreamResponse } from "../../protocol/model.js";
import { blankLine } from "./answer.js";

/** An artifact as the reader of its text knows it. */
interface KnownText {
  /** The text that the reader has. */
  shown: string;
  /** How much of it the artifact has again, after it was replaced. */
  at: number;
}

/**
 * The text of a stream piece by piece: together the pieces are the answer's text. Text cannot be taken back, so an
 * artifact that is replaced shows what it has beyond the text already shown; one that is written anew starts again
 * behind a blank line.
 */
export class TextDeltas {
  readonly #maxLength: number;
  readonly #known = new Map<string, KnownText>();
  #length = 0;
  /** The artifact whose text was shown last. */
  #current: string | undefined;
  /** The first half of a surrogate pair, whose second half may follow. */
  #held = "";
  #finalText = "";

  /** `maxLength`: beyond this length it no longer remembers what it has shown. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The text that an event adds. */
  read({ payload }: StreamResponse): string {
    switch (payload.case) {
      case "artifactUpdate":
        return this.#artifact(payload.value.artifact, payload.value.append);
      case "message":
        this.#finalText = textOf(payload.value);
        return "";
      case "task":
        this.#finalText = textOf(payload.value.status);
        return payload.value.artifacts.map((each) => this.#artifact(each, false)).join("");
      case "statusUpdate":
        if (payload.value.status !== undefined) this.#finalText = textOf(payload.value.status);
        return "";
      default:
        return "";
    }
  }

  /** The text that is left at the end: that of the last message when there was no other. */
  end(): string {
    return this.#current === undefined ? this.#finalText : this.#held;
  }

  #artifact(artifact: Artifact | undefined, append: boolean): string {
    if (artifact === undefined) return "";
    const { artifactId } = artifact;
    const text = textOf(artifact);
    let known = this.#known.get(artifactId);
    if (known === undefined) {
      known = { shown: "", at: 0 };
      this.#known.set(artifactId, known);
    }
    if (!append) known.at = 0;
    const before = known.shown.length;
    const added = addedTo(known, text);
    if (added === "") return "";
    // Either it has become another text, or what was shown of it is forgotten.
    const isAnew = known.shown.length < before + added.length || (!append && before === 0);
    this.#forget(added.length);
    return this.#show(artifactId, added, isAnew);
  }

  #show(artifactId: string, added: string, isAnew: boolean): string {
    const isFurther = this.#current === artifactId && !isAnew;
    const between = this.#current === undefined || isFurther ? "" : blankLine;
    this.#current = artifactId;
    const shown = this.#held + between + added;
    this.#held = endsInHalf(shown) ? shown.slice(-1) : "";
    return this.#held === "" ? shown : shown.slice(0, -1);
  }

  #forget(added: number): void {
    this.#length += added;
    if (this.#length <= this.#maxLength) return;
    this.#known.clear();
    this.#length = 0;
  }
}

/** What an artifact's text gains beyond what was shown; the whole text when it has become another. */
function addedTo(known: KnownText, text: string): string {
  const ahead = known.shown.length - known.at;
  if (ahead > 0) {
    const expected = text.slice(0, ahead);
    if (!known.shown.startsWith(expected, known.at)) {
      known.shown = known.shown.slice(0, known.at) + text;
      known.at = known.shown.length;
      return known.shown;
    }
    known.at += expected.length;
  }
  const added = ahead > 0 ? text.slice(ahead) : text;
  known.shown += added;
  known.at += added.length;
  return added;
}

function endsInHalf(text: string): boolean {
  const code = text.charCodeAt(text.length - 1);
  return code >= 0xd800 && code <= 0xdbff;
}
