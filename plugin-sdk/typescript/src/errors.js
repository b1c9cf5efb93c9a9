// Why a call has no result. The host converts it for each client.

/** The call failed. The model reads the text: say what it could do about it. */
export class ToolError extends Error {
  // An expected error, whose stack is not logged.
  expected = true;
  name = "ToolError";
}

/** There is no response to an HTTP request; `kind` says why. */
export class HttpError extends ToolError {
  name = "HttpError";
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

/** The caller's arguments are invalid; `path` is a JSON Pointer into the arguments. */
export class InvalidArguments extends Error {
  name = "InvalidArguments";
  constructor(path, reason) {
    super(path ? `${path}: ${reason}` : reason);
    this.path = path;
    this.reason = reason;
  }
}

/** There is no tool, resource or prompt of that name. */
export class NotFound extends Error {
  name = "NotFound";
  constructor(text = "not found") {
    super(text);
  }
}

/** A question was refused: the client does not support it or refused it. */
export class Unavailable extends Error {
  name = "Unavailable";
  constructor(why, question) {
    super(why);
    this.question = question;
  }
}

/** The error's text. Anything may be thrown, also what fails to make a text. */
export function errorText(error) {
  try {
    if (!(error instanceof Error)) return String(error);
    return error.message ? `${error.name}: ${error.message}` : String(error.name);
  } catch {
    return "an error without a text";
  }
}
