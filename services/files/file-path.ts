import { MayflyError } from '../../model/errors.ts';
import { percentDecode, percentEncode } from '../../model/files/file-path.ts';
import { LIMITS } from '../../model/limits.ts';

/** A path of a guest: absolute, any bytes but NUL, taken as it is. */
export class FilePath {
  private constructor(readonly bytes: Uint8Array) {}

  /** @throws MayflyError invalid_request */
  static of(percentEncoded: string): FilePath {
    const bytes = percentDecode(percentEncoded);
    if (!bytes) throw refused('has a % that is not followed by two hexadecimal digits');
    if (bytes.includes(0)) throw refused('may not have the byte NUL (%00)');
    // The URL leaves the leading slash out; who writes it means the same.
    const absolute = bytes[0] === 0x2f ? bytes : Buffer.concat([Buffer.from('/'), bytes]);
    if (absolute.length > LIMITS.path.maxBytes) throw refused(`must have at most ${LIMITS.path.maxBytes} bytes`);
    return new FilePath(absolute);
  }

  /** As the guest's agent takes it. */
  get base64url(): string {
    return Buffer.from(this.bytes).toString('base64url');
  }

  /** Printable, and unambiguous: for the audit. */
  get encoded(): string {
    return percentEncode(this.bytes);
  }
}

function refused(problem: string): MayflyError {
  return new MayflyError('invalid_request', `The path ${problem}.`, { fields: [{ field: 'path', problem }] });
}
