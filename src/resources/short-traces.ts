/**
 * Lets the SDK take empty stack traces until it is ended. For each property of a resource it takes four, to tell of promises that leak: in
 * a program with many resources nothing else takes as long. (Where a resource stands in the program it finds out with a limit of its own.)
 *
 * @param isLookedUp the SDK makes beforehand the error that tells of what is not found: that one needs its trace
 */
export function shortTraces(isLookedUp: boolean): ShortTraces {
  const before = Error.stackTraceLimit;
  // Not by assignment, which throws where intrinsics are frozen.
  const end = (): void => void Reflect.set(Error, "stackTraceLimit", before);
  if (!isLookedUp) Reflect.set(Error, "stackTraceLimit", 0);
  return {
    end,
    failed: (error, resource) => {
      end();
      if (error instanceof Error) Error.captureStackTrace(error, resource);
      return error;
    },
  };
}

export interface ShortTraces {
  /** Back to what the limit was before. */
  end(): void;
  /** Ends it, and gives the error the trace that leads to who called the constructor: a person needs its line. */
  failed(error: unknown, resource: new (...args: never[]) => unknown): unknown;
}
