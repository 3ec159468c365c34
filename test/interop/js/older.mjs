import { registerHooks } from "node:module";

// Imported before a program: the SDK that the program imports is then the older release that lies beside it.

registerHooks({
  resolve: (specifier, context, next) => next(specifier.replace(/^@a2a-js\/sdk(?=\/|$)/, "sdk-1.0"), context),
});
