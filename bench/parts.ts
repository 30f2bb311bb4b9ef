import { measureCommands } from './commands.ts';
import { measureCreates } from './creates.ts';
import { measureDirect } from './direct.ts';
import { measureInterfaces } from './doors.ts';
import { measureFunctions } from './functions.ts';
import { measureIdle } from './idle.ts';
import { measureImages } from './images.ts';
import { measurePools } from './pools.ts';
import { measurePorts } from './ports.ts';
import { measureQueue } from './queue.ts';
import { pairsOf, type Report } from './report.ts';
import { measureRequests } from './requests.ts';
import { measureSnapshots } from './snapshots.ts';
import type { Bench, Extent } from './support/bench.ts';
import type { Figures } from './support/measure.ts';

interface Part<T> {
  name: string;
  measure: (on: T) => Promise<Figures>;
  /** Skips the part on a simulated host, which copies disks. */
  isOfLibvirt?: true;
}

/** Parts that run before the installation starts, on its folder. */
export const PARTS_ALONE: readonly Part<Extent>[] = [
  { name: 'direct', measure: measureDirect },
  { name: 'idle', measure: measureIdle },
];

/** Parts that measure one installation, in this order. */
export const PARTS: readonly Part<Bench>[] = [
  { name: 'creates', measure: measureCreates },
  { name: 'doors', measure: measureInterfaces },
  { name: 'ports', measure: measurePorts },
  { name: 'images', measure: measureImages },
  { name: 'pools', measure: measurePools },
  { name: 'commands', measure: measureCommands },
  { name: 'snapshots', measure: measureSnapshots, isOfLibvirt: true },
  { name: 'functions', measure: measureFunctions },
  { name: 'requests', measure: measureRequests },
  { name: 'queue', measure: measureQueue },
];

const [WIDTH, LEFT, BAR, ROW, TOP] = [860, 250, 380, 50, 64];
/** Colours of GitHub's light and dark themes. */
const STYLE = `text { font: 14px sans-serif; fill: #1f2328 } .name { font-weight: bold } .label { font-size: 12px }
  .ours { fill: #0969da } .beside { fill: #8c959f }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .ours { fill: #4493f8 } .beside { fill: #656d76 } }`;

/**
 * Draws a bar for each median of Mayfly above that of the plain tool in the same run; the longer of two has the full
 * width.
 */
export function benchPicture({ parts, machine, host, at }: Report): string {
  const pairs = Object.values(parts).flatMap(pairsOf);
  const label = pairs.map(
    ({ what, beside, oursMs, besideMs }) => `${what} ${timeText(oursMs)}, ${beside} ${timeText(besideMs)}`,
  );
  const title = `${host.kind === 'libvirt' ? 'Real machines' : 'The simulated host'}: Mayfly in blue, what it stands on in grey`;
  const from = `medians of one run, ${at.slice(0, 10)}, ${machine.cores} × ${machine.cpu}, isolation: ${host.isolation}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + ROW * pairs.length + 10}" role="img" aria-label="${escapeXml(label.join('; '))}">
<style>
  ${STYLE}
</style>
<text class="name" x="20" y="28">${title}</text>
<text class="label" x="20" y="48">${escapeXml(from)}</text>
${pairs.map(drawPair).join('\n')}
</svg>
`;
}

function drawPair({ what, beside, oursMs, besideMs }: ReturnType<typeof pairsOf>[number], n: number): string {
  const y = TOP + n * ROW;
  const width = (ms: number) => Math.max(1, Math.round((BAR * ms) / Math.max(oursMs, besideMs)));
  const bar = (kind: string, ms: number, at: number, text: string) =>
    `<rect class="${kind}" x="${LEFT}" y="${at}" width="${width(ms)}" height="14"/>` +
    `<text class="label" x="${LEFT + width(ms) + 8}" y="${at + 12}">${escapeXml(text)}</text>`;
  return [
    `<text x="20" y="${y + 22}">${escapeXml(what)}</text>`,
    bar('ours', oursMs, y + 2, `${timeText(oursMs)}, ${(oursMs / besideMs).toFixed(1)} ×`),
    bar('beside', besideMs, y + 20, `${timeText(besideMs)}, ${beside}`),
  ].join('');
}

function timeText(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
