import type { Plugin } from "./index.js";

/** The exports of the component. The entry that `wharf build` writes calls it. */
export declare function component(plugin: Plugin, built: { exports: string[]; stated: boolean }): Record<string, object>;
