import { readFile } from 'node:fs/promises';
import { benchPicture } from '../../bench/picture.ts';
import type { Report } from '../../bench/report.ts';
import { architecturePicture } from './architecture-picture.ts';
import { storyPicture } from './story-picture.ts';

/** Every picture below docs/, by its file. Those of figures are drawn from the reports of the bench that lie beside them. */
export async function pictures(): Promise<Record<string, string>> {
  return {
    'architecture.svg': architecturePicture(),
    'story.svg': storyPicture(),
    'performance/libvirt.svg': benchPicture(await reportIn('libvirt')),
    'performance/simulated.svg': benchPicture(await reportIn('simulated')),
  };
}

async function reportIn(kind: string): Promise<Report> {
  const file = new URL(`../../docs/performance/${kind}.json`, import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')) as Report;
}
