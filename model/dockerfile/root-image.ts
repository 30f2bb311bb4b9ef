import type { RootLayer, Settings } from './plan.ts';

/** Root file system found in the context. */
export interface RootImage {
  /** Path in the context as in FROM, without `./`. */
  path: string;
  layers: RootLayer[];
  /** Settings from its image; empty for a plain archive. */
  settings: Settings;
}

/** Source that supplies kernel, modules and agent for a root file system, unless an alias names another. */
export const MACHINE_SOURCE = 'golden-debian12';

/** Build and target platform. */
export const PLATFORM = 'linux/amd64';

/** Docker's predefined ARGs; a stage gets those that it declares with ARG. */
export const PLATFORM_ARGS: Readonly<Record<string, string>> = Object.fromEntries(
  ['TARGET', 'BUILD'].flatMap((side) => [
    [`${side}PLATFORM`, PLATFORM],
    [`${side}OS`, 'linux'],
    [`${side}ARCH`, 'amd64'],
    [`${side}VARIANT`, ''],
  ]),
);

/** Docker's names for Debian 12. */
const DEBIAN_12 = /^(?:docker\.io\/)?(?:library\/)?debian:(?:12(?:\.\d{1,3})?|bookworm)(?:-slim|-\d{8}(?:-slim)?)?$/;

/** Returns the source for a Docker image name; null: there is none. */
export function findGoldenSource(name: string): string | null {
  return DEBIAN_12.test(name) ? MACHINE_SOURCE : null;
}
