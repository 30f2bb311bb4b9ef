import { isFilePath } from './file-path.ts';

const CONNECTION = /^\/v1\/sandboxes\/[^/?]+\/ports\/[^/?]+\/connect(?:\?|$)/;
const CONTEXT = /^\/v1\/image-contexts\/[^/?]+(?:\?|$)/;

/** Whether a request's body is no document: of any size, type and duration, and never held as a whole. */
export function hasStreamedBody(path: string): boolean {
  return isFilePath(path) || CONNECTION.test(path) || CONTEXT.test(path);
}
