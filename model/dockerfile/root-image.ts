import type { RootLayer, Settings } from './plan.ts';

/** A root file system of the context, as it was found there. */
export interface RootImage {
  /** Of the context, as FROM says it, without `./`. */
  path: string;
  layers: RootLayer[];
  /** What its image says of what runs in it; of a plain archive, nothing. */
  settings: Settings;
}

/** What the machine of such a root is made of, unless an alias names another: kernel, modules and agent are its. */
export const MACHINE_SOURCE = 'golden-debian12';

/** What images are built for, and on. */
export const PLATFORM = 'linux/amd64';

/** The ARGs that Docker knows by itself; a stage has each that it names with ARG. */
export const PLATFORM_ARGS: Readonly<Record<string, string>> = Object.fromEntries(
  ['TARGET', 'BUILD'].flatMap((side) => [
    [`${side}PLATFORM`, PLATFORM],
    [`${side}OS`, 'linux'],
    [`${side}ARCH`, 'amd64'],
    [`${side}VARIANT`, ''],
  ]),
);

/** Docker's names of a release of Debian. */
const DEBIAN_12 = /^(?:docker\.io\/)?(?:library\/)?debian:(?:12(?:\.\d{1,3})?|bookworm)(?:-slim|-\d{8}(?:-slim)?)?$/;

/** The source that is meant by Docker's name of an image; null: none is. */
export function goldenImage(name: string): string | null {
  return DEBIAN_12.test(name) ? MACHINE_SOURCE : null;
}
