import { exec } from '../exec.ts';

export type ImageFormat = 'qcow2' | 'raw';

/** One file of a disk's backing chain. */
export interface ImageLayer {
  path: string;
  format: string;
  /** Bytes the guest sees. */
  virtualBytes: number;
  /** Bytes allocated on the host. */
  allocatedBytes: number;
}

/**
 * A disk and what it is backed by, top first. The format of the top is told, not probed: a guest can write a qcow2
 * header, and with it the name of any file of the host, into its raw disk.
 * @throws ExecError when a layer is missing or of another format.
 */
export async function imageChain(path: string, format: string): Promise<ImageLayer[]> {
  const args = ['info', '--force-share', '--backing-chain', '--output=json', '-f', format, '--', path];
  const { stdout } = await exec('qemu-img', args);
  const layers: unknown = JSON.parse(stdout);
  if (!Array.isArray(layers)) throw new TypeError('qemu-img info --backing-chain printed no list');
  return layers.map(layerOf);
}

function layerOf(entry: unknown): ImageLayer {
  const layer: Partial<Record<string, unknown>> = typeof entry === 'object' && entry !== null ? { ...entry } : {};
  const { filename, format, 'virtual-size': virtualBytes, 'actual-size': allocatedBytes } = layer;
  if (typeof filename !== 'string' || typeof format !== 'string' || typeof virtualBytes !== 'number') {
    throw new TypeError('qemu-img info left out filename, format or virtual-size');
  }
  return {
    path: filename,
    format,
    virtualBytes,
    allocatedBytes: typeof allocatedBytes === 'number' ? allocatedBytes : 0,
  };
}
