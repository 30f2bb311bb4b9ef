import type { ContextEntry } from './context.ts';
import type { Settings } from './plan.ts';

/** A root file system of the context, as it was found there. */
export interface RootImage {
  /** Of the context, as FROM says it, without `./`. */
  path: string;
  layers: RootLayer[];
  /** What its image says of what runs in it; of a plain archive, nothing. */
  settings: Settings;
}

/** An archive of files. */
export interface RootLayer {
  /** Where its bytes are, which its digest is of. */
  entry: ContextEntry;
  /** `sha256:…` of what it is unpacked, as its image says it; null: it is no layer of an image, and has no whiteouts. */
  diffId: string | null;
}

/** What the machine of such a root is made of, unless an alias names another: kernel, modules and agent are its. */
export const MACHINE_SOURCE = 'golden-debian12';
