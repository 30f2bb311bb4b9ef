import { readFile } from 'node:fs/promises';
import { benchPicture } from '../../bench/parts.ts';
import type { Report } from '../../bench/report.ts';

/** Draws the pictures below docs/, by file, from the bench reports next to them. */
export async function pictures(): Promise<Record<string, string>> {
  return {
    'performance/libvirt.svg': benchPicture(await reportIn('libvirt')),
    'performance/simulated.svg': benchPicture(await reportIn('simulated')),
  };
}

async function reportIn(kind: string): Promise<Report> {
  const file = new URL(`../../docs/performance/${kind}.json`, import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')) as Report;
}
