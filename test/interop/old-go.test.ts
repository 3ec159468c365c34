import { oldGo } from "./old-js-and-go.js";
import { testOldSdks } from "./old-js-and-go-suite.js";

testOldSdks(oldGo, "test/interop/go-old/setup.sh");
