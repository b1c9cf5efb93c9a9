// Messages to whoever watches: the host's log, and the client if it wants them.

import { log, logData } from "#host";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** A level that there is: any other would end the instance. */
function known(level) {
  if (!LEVELS.includes(level)) throw new TypeError(`${level}: a level is one of ${LEVELS.join(", ")}`);
  return level;
}

/** Says something at a level. */
export const message = (level, text) => log(known(level), String(text).toWellFormed());

/** Says something structured; `logger` names the part of the plugin that speaks. */
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
