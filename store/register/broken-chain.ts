import { MayflyError } from '../../model/errors.ts';

/** Chain that accepts no entry until an operator repairs it. */
export class BrokenChain extends MayflyError {
  constructor(message: string, cause?: unknown) {
    super('internal', message, { cause });
  }
}
