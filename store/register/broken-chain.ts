import { MayflyError } from '../../model/errors.ts';

/** Nothing can be appended to a chain until somebody has mended it. */
export class BrokenChain extends MayflyError {
  constructor(message: string, cause?: unknown) {
    super('internal', message, { cause });
  }
}
