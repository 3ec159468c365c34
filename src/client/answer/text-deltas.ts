import { textOf } from "../../protocol/content/read.js";
import type { Artifact, StreamResponse, Task } from "../../protocol/model.js";
import { artifactSeparator } from "./answer.js";

/** An artifact as the reader of its text knows it. */
interface ShownText {
  /** The text that the reader has. */
  text: string;
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
  readonly #texts = new Map<string, ShownText>();
  #length = 0;
  /** The artifact whose text was shown last. */
  #current: string | undefined;
  /** The first half of a surrogate pair, whose second half may follow. */
  #half = "";
  #finalText = "";

  /**
   * `maxLength`: beyond this length it forgets what it has shown. `known`: a task whose text the reader has already.
   */
  constructor(maxLength: number, known?: Task) {
    this.#maxLength = maxLength;
    for (const artifact of known?.artifacts ?? []) {
      const text = textOf(artifact);
      this.#texts.set(artifact.artifactId, { text, at: text.length });
      this.#length += text.length;
    }
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
    return this.#current === undefined ? this.#finalText : this.#half;
  }

  #artifact(artifact: Artifact | undefined, append: boolean): string {
    if (artifact === undefined) return "";
    const { artifactId } = artifact;
    const text = textOf(artifact);
    let shownText = this.#texts.get(artifactId);
    if (shownText === undefined) {
      shownText = { text: "", at: 0 };
      this.#texts.set(artifactId, shownText);
    }
    if (!append) shownText.at = 0;
    const before = shownText.text.length;
    const addition = addText(shownText, text);
    if (addition === "") return "";
    // Either it has become another text, or what was shown of it is forgotten.
    const isAnew = shownText.text.length < before + addition.length || (!append && before === 0);
    this.#forget(addition.length);
    return this.#show(artifactId, addition, isAnew);
  }

  #show(artifactId: string, addition: string, isAnew: boolean): string {
    const isFurther = this.#current === artifactId && !isAnew;
    const between = this.#current === undefined || isFurther ? "" : artifactSeparator;
    this.#current = artifactId;
    const text = this.#half + between + addition;
    this.#half = endsInHalf(text) ? text.slice(-1) : "";
    return this.#half === "" ? text : text.slice(0, -1);
  }

  #forget(addition: number): void {
    this.#length += addition;
    if (this.#length <= this.#maxLength) return;
    this.#texts.clear();
    this.#length = 0;
  }
}

/** Returns the text to append to the shown text of an artifact; the whole text if it was replaced. */
function addText(shownText: ShownText, text: string): string {
  const ahead = shownText.text.length - shownText.at;
  if (ahead > 0) {
    const overlap = text.slice(0, ahead);
    if (!shownText.text.startsWith(overlap, shownText.at)) {
      shownText.text = shownText.text.slice(0, shownText.at) + text;
      shownText.at = shownText.text.length;
      return shownText.text;
    }
    shownText.at += overlap.length;
  }
  const addition = ahead > 0 ? text.slice(ahead) : text;
  shownText.text += addition;
  shownText.at += addition.length;
  return addition;
}

function endsInHalf(text: string): boolean {
  const code = text.charCodeAt(text.length - 1);
  return code >= 0xd800 && code <= 0xdbff;
}
