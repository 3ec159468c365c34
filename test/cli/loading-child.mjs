// A program that runs `trivium …` and prints what it has loaded, instead of what the command prints.
import { watchLoading } from "../support/loaded-sources.mjs";

const loaded = watchLoading();
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
await import("../../dist/src/cli/main.js");
write(JSON.stringify([...loaded].toSorted()));
