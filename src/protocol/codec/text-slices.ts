/** Cuts a text into slices of at most so many UTF-16 units, between characters: each can be encoded by itself. */
export function* sliceText(text: string, maxLength: number): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = start + maxLength;
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
