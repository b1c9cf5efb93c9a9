export { getEnvironment } from "wasi:cli/environment@0.2.0";
