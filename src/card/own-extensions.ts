import { authorizationExtension } from "../protocol/authorization/request.js";
import { idempotentSendExtension, resumeExtension } from "../protocol/extensions.js";
import type { CardOptions, ExtensionOptions } from "./options.js";

/** Extensions of the framework, for callers that activate them. */
const ownExtensions: readonly (ExtensionOptions & { readonly streams: boolean })[] = [
  {
    uri: idempotentSendExtension,
    description: "The same message, sent again, attaches to what it started the first time.",
    streams: false,
  },
  {
    uri: resumeExtension,
    description: "Each event of a stream carries its id in its metadata; a caller comes back with it in last-event-id.",
    streams: true,
  },
  {
    uri: authorizationExtension,
    description: "The message of a task that needs an authorization says in its metadata where to give it.",
    streams: false,
  },
];

/** The extensions of a card: the author's, then those of the framework that the author does not list. */
export function allExtensions({ extensions = [], capabilities }: CardOptions): readonly ExtensionOptions[] {
  const authorUris = new Set(extensions.map(({ uri }) => uri));
  const frameworkExtensions = ownExtensions.filter(
    ({ uri, streams }) => !authorUris.has(uri) && !(streams && capabilities?.streaming === false),
  );
  return [...extensions, ...frameworkExtensions.map(({ uri, description }) => ({ uri, description }))];
}
