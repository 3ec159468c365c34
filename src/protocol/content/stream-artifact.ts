import { type ArtifactOptions, artifact, artifactEvent, artifactKey, type KeyedArtifactEvent } from "../events.js";
import { typeNames } from "../model.js";
import { text } from "../parts.js";

/** Options of the artifact that the text becomes. */
export interface StreamArtifactOptions extends Omit<ArtifactOptions, "append" | "lastChunk"> {
  /** Media type of the text. Default: none, which means plain text. */
  readonly mediaType?: string | undefined;
}

/** An event that an agent emits, with the name of its type. */
interface AnyEvent {
  readonly $typeName: string;
}

/**
 * Turns a model's token stream into one artifact: a chunk for each string, then an empty one with `lastChunk`. Events
 * among the strings, such as `working("searching")` for a tool call, pass through. Skips empty strings, and never
 * splits a surrogate pair. Without text there is no artifact. An error of `chunks` fails the turn and keeps the text so
 * far. A stream that ends early without an error counts as complete, so check how your model SDK reports errors. Throws
 * a `TypeError` for a chunk that is neither a string nor an event.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ text, signal }) {
 *   const tokens = model.stream([{ role: "user", content: text }], { signal });
 *   yield* streamArtifact(tokens, { name: "answer" });
 * };
 * ```
 */
export function streamArtifact(
  chunks: AsyncIterable<string> | Iterable<string>,
  options?: StreamArtifactOptions,
): AsyncGenerator<KeyedArtifactEvent, void, undefined>;
export function streamArtifact<E extends AnyEvent>(
  chunks: AsyncIterable<string | E> | Iterable<string | E>,
  options?: StreamArtifactOptions,
): AsyncGenerator<KeyedArtifactEvent | E, void, undefined>;
export async function* streamArtifact<E extends AnyEvent>(
  chunks: AsyncIterable<string | E> | Iterable<string | E>,
  options: StreamArtifactOptions = {},
): AsyncGenerator<KeyedArtifactEvent | E, void, undefined> {
  const key = {};
  const { mediaType, ...rest } = options;
  let surrogate = "";
  let hasStarted = false;
  const chunk = (value: string, lastChunk: boolean): KeyedArtifactEvent => {
    const part = text(value, { mediaType });
    if (!hasStarted) {
      hasStarted = true;
      return withKey(artifact(part, { ...rest, lastChunk }), key, options.artifactId);
    }
    const continuation = {
      $typeName: typeNames.Artifact,
      artifactId: options.artifactId ?? "",
      name: "",
      description: "",
      parts: [part],
      extensions: [],
    };
    return withKey(artifactEvent(continuation, true, lastChunk), key, options.artifactId);
  };
  for await (const piece of chunks) {
    if (typeof piece !== "string") {
      if (typeof piece?.$typeName !== "string") throw invalidPiece(piece);
      yield piece;
      continue;
    }
    const value = surrogate + piece;
    surrogate = endsInHighSurrogate(value) ? value.slice(-1) : "";
    const completeText = surrogate === "" ? value : value.slice(0, -1);
    if (completeText !== "") yield chunk(completeText, false);
  }
  // A lone surrogate at the very end becomes the replacement character, since it would make the string invalid.
  if (surrogate !== "") yield chunk("\ufffd", false);
  if (hasStarted) yield chunk("", true);
}

function withKey(event: KeyedArtifactEvent, key: object, artifactId: string | undefined): KeyedArtifactEvent {
  return artifactId === undefined ? { ...event, [artifactKey]: key } : event;
}

function invalidPiece(piece: unknown): TypeError {
  const kind = piece === null ? "null" : typeof piece;
  return new TypeError(
    `streamArtifact() takes a stream of strings and events, not of values of type ${kind}: yield the text of each`,
  );
}

function endsInHighSurrogate(value: string): boolean {
  const code = value.charCodeAt(value.length - 1);
  return code >= 0xd800 && code <= 0xdbff;
}
