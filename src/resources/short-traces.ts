/**
 * Makes stack traces empty until it is ended. The SDK takes four stack traces for each property of a resource, to report promises that never
 * resolve. In a program with many resources, nothing else takes as long. The SDK determines a resource's position in the program with a
 * limit of its own.
 *
 * @param isLookedUp whether the resource is only read: the SDK then creates the error for a missing object in advance, and it needs its trace
 */
export function shortTraces(isLookedUp: boolean): ShortTraces {
  const before = Error.stackTraceLimit;
  // An assignment would throw if a program has frozen the intrinsics.
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
  /** Restores the former limit. */
  end(): void;
  /** Restores the former limit, and gives the error the stack trace of the constructor's caller. */
  failed(error: unknown, resource: new (...args: never[]) => unknown): unknown;
}
