// Messages to the host's log, and to the client if it asked for them.

import { log, logData } from "#host";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** A valid level: any other would end the instance. */
function known(level) {
  if (!LEVELS.includes(level)) throw new TypeError(`${level}: must be one of ${LEVELS.join(", ")}`);
  return level;
}

/** Logs a text at a level. */
export const message = (level, text) => log(known(level), String(text).toWellFormed());

/** Logs a structured value; `logger` names the part of the plugin. */
export const data = (level, logger, value) =>
  logData(known(level), String(logger).toWellFormed(), (JSON.stringify(value) ?? "null").toWellFormed());

export const debug = (text) => message("debug", text);
export const info = (text) => message("info", text);
export const notice = (text) => message("notice", text);
export const warning = (text) => message("warning", text);
export const error = (text) => message("error", text);
export const critical = (text) => message("critical", text);
export const alert = (text) => message("alert", text);
export const emergency = (text) => message("emergency", text);
