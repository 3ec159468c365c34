/** Media types by the extensions that people and programs exchange most. */
const mediaTypes: Readonly<Record<string, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  yaml: "application/yaml",
  yml: "application/yaml",
  xml: "application/xml",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  mp4: "video/mp4",
  webm: "video/webm",
};

/** The media type of the extension of a file name; `undefined` for a rarer one. */
export function findMediaType(filename: string): string | undefined {
  const [, extension = ""] = /\.([a-z\d]+)$/i.exec(filename) ?? [];
  const name = extension.toLowerCase();
  return Object.hasOwn(mediaTypes, name) ? mediaTypes[name] : undefined;
}

/** The extension of a media type, as `.csv`; `""` for a rarer one. */
export function findExtension(mediaType: string | undefined): string {
  const essence = mediaType?.split(";", 1)[0]?.trim().toLowerCase();
  const entry = Object.entries(mediaTypes).find(([, type]) => type === essence);
  return entry === undefined ? "" : `.${entry[0]}`;
}
