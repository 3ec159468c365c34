/** The floor: bare Node doing the same wire work without store, validation or framework. */
import { announce } from "../control.ts";
import { listenGrpc } from "./floor-grpc.ts";
import { listenHttp } from "./floor-http.ts";

announce({ http: await listenHttp(), grpc: await listenGrpc() });
