/** Told how a program ended that was run. */
type ProgramEnded = (failure: Error | null) => void;
/** Told of each program that is run on this host. */
type ProgramObserver = (program: string, args: readonly string[]) => ProgramEnded;

const observers: ProgramObserver[] = [];

/** For the rest of this process. */
export function observePrograms(observer: ProgramObserver): void {
  observers.push(observer);
}

/** @returns what is to be told its end */
export function programBegins(program: string, args: readonly string[]): ProgramEnded {
  if (observers.length === 0) return () => {};
  const ends = observers.map((observe) => observe(program, args));
  return (failure) => {
    for (const end of ends) end(failure);
  };
}
