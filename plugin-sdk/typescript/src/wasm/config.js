export { get, getAll } from "wasi:config/store@0.2.0-rc.1";
