import { MayflyApiError } from '../../clients/typescript/http/api-error.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { REDACTED } from '../../model/redaction/span.ts';
import { ToolError } from './error-text.ts';

interface Written {
  sandboxId: string;
  path: string;
  content: Uint8Array;
  signal: AbortSignal;
}

/** Refuses to lose a secret: what was masked when it was shown, over a file that has the secret. @throws ToolError */
export async function refuseRedacted(
  client: MayflyClient,
  { sandboxId, path, content, signal }: Written,
): Promise<void> {
  if (!Buffer.from(content).includes(REDACTED)) return;
  const present = await bytesAt(client, { sandboxId, path, signal });
  if (present === null || present.includes(REDACTED)) return;
  throw new ToolError(
    `The content has ${REDACTED}, and ${path} has none: that is what was shown in the place of a secret. Nothing was written.`,
    'Read the file with mask false, or change the one place with edit_file.',
  );
}

/** All of a file; null when there is none. */
export async function bytesAt(
  client: MayflyClient,
  { sandboxId, path, signal }: Omit<Written, 'content'>,
): Promise<Buffer | null> {
  try {
    const { body } = await client.files.read(sandboxId, path, { signal });
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of body) {
      parts.push(part);
      length += part.length;
      if (length > MAX_BYTES)
        throw new ToolError(`${path} has more than ${MAX_BYTES} bytes.`, 'Change it by a command.');
    }
    return Buffer.concat(parts);
  } catch (error) {
    if (error instanceof MayflyApiError && error.code === 'file_not_found') return null;
    throw error;
  }
}

/** Of a file that is read as a whole. */
const MAX_BYTES = 16_777_216;
