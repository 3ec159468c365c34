// An application of the kind that `client-size.ts` measures. It is the whole of a page, so it exports nothing.
import { Client } from "trivium/client";

Object.assign(globalThis, { Client });
