/** Callback at the end of a program. */
type ProgramEnded = (failure: Error | null) => void;
/** Callback at each start of a program on this host. */
type ProgramObserver = (program: string, args: readonly string[]) => ProgramEnded;

const observers: ProgramObserver[] = [];

/** Registers an observer for the rest of this process. */
export function observePrograms(observer: ProgramObserver): void {
  observers.push(observer);
}

/** @returns callback for the program's end */
export function programBegins(program: string, args: readonly string[]): ProgramEnded {
  if (observers.length === 0) return () => {};
  const ends = observers.map((observe) => observe(program, args));
  return (failure) => {
    for (const end of ends) end(failure);
  };
}
