export type Level = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Logs a text at a level. */
export declare function message(level: Level, text: unknown): void;
/** Logs a structured value; `logger` names the part of the plugin. */
export declare function data(level: Level, logger: string, value: unknown): void;
export declare function debug(text: unknown): void;
export declare function info(text: unknown): void;
export declare function notice(text: unknown): void;
export declare function warning(text: unknown): void;
export declare function error(text: unknown): void;
export declare function critical(text: unknown): void;
export declare function alert(text: unknown): void;
export declare function emergency(text: unknown): void;
