// What whoever runs the server set for this plugin: `config` and `env` of its grants.

import { get as setting, getAll } from "#config";
import { getEnvironment } from "#environment";

/** One setting of `config`. */
export const get = (key) => setting(String(key).toWellFormed()) ?? undefined;

/** All of them. */
export const all = () => Object.fromEntries(getAll());

/** The variables of `env`. */
export const environment = () => Object.fromEntries(getEnvironment());
