import { oldJs } from "./old-js-and-go.js";
import { testOldSdks } from "./old-js-and-go-suite.js";

testOldSdks(oldJs, "test/interop/js-old/setup.sh");
