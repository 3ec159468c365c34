// An application of the kind that `client-size.ts` measures.
export { Client, collect } from "trivium/client";
