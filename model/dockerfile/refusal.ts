import { MayflyError } from '../errors.ts';

/** What a Dockerfile asks for and a build does not do, or what it says wrongly; by its line. */
export function refusedAt(line: number, problem: string): MayflyError {
  return new MayflyError('dockerfile_unsupported', `Line ${line}: ${problem}.`, {
    fields: [{ field: `line ${line}`, problem }],
  });
}
