// Why a call has no result. How that looks to a client is the host's affair.

/** It did not work out. The model reads the text: say what it could do about it. */
export class ToolError extends Error {
  // Nobody has to look for its place in the code.
  expected = true;
  name = "ToolError";
}

/** The caller gave something wrong; `path` is a JSON Pointer into the arguments. */
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

/** A question cannot be put: the client cannot or will not be asked it. */
export class Unavailable extends Error {
  name = "Unavailable";
  constructor(why, question) {
    super(why);
    this.question = question;
  }
}

/** What went wrong, in words. */
export function told(error) {
  if (!(error instanceof Error)) return String(error);
  return error.message ? `${error.name}: ${error.message}` : error.name;
}
