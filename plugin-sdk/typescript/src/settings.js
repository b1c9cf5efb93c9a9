// The settings of the plugin's grants: `config` and `env`.

import { get as setting, getAll } from "#config";
import { getEnvironment } from "#environment";

/** One setting of `config`. */
export const get = (key) => setting(String(key).toWellFormed()) ?? undefined;

/** All settings. */
export const all = () => Object.fromEntries(getAll());

/** The variables of `env`. */
export const environment = () => Object.fromEntries(getEnvironment());
