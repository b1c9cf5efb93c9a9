import type { Plugin } from "./index.js";

/** The exports of the component. The entry that `wharf build` writes calls it. */
export declare function component(plugin: Plugin, interfaces: string[]): Record<string, object>;
