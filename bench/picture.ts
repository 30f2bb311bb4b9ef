import type { Spread } from './measure/measure.ts';
import type { Report } from './report.ts';
import { escaped, svg } from './svg.ts';

type Spreads = Record<string, Spread> | undefined;

/** The same work done by Mayfly and by what it stands on, milliseconds, in one run. */
interface Pair {
  what: string;
  ours: number;
  /** What it stands on. */
  plainName: string;
  plain: number;
}

const [WIDTH, LEFT, BAR, ROW, TOP] = [860, 250, 380, 50, 64];

/** A bar for each median of ours above that of the plain tool in the same run; the longer of two has the full width. */
export function benchPicture(report: Report): string {
  const pairs = pairsOf(report);
  const { machine, host, at } = report;
  const body = [
    `<text class="name" x="20" y="28">${host.kind === 'libvirt' ? 'Real machines' : 'The simulated host'}: Mayfly in blue, what it stands on in grey</text>`,
    `<text class="label" x="20" y="48">medians of one run, ${at.slice(0, 10)}, ${machine.cores} × ${escaped(machine.cpu)}, isolation: ${escaped(host.isolation)}</text>`,
    ...pairs.map(rowOf),
  ];
  const label = pairs.map(({ what, ours, plainName, plain }) => `${what} ${said(ours)}, ${plainName} ${said(plain)}`);
  return svg({ width: WIDTH, height: TOP + ROW * pairs.length + 10, label: label.join('; ') }, STYLE, body.join('\n'));
}

const STYLE = `
  .ours { fill: #0969da; stroke: none } .plain { fill: #8c959f; stroke: none }
  @media (prefers-color-scheme: dark) { .ours { fill: #4493f8 } .plain { fill: #656d76 } }`;

function rowOf({ what, ours, plainName, plain }: Pair, n: number): string {
  const y = TOP + n * ROW;
  const width = (ms: number) => Math.max(1, Math.round((BAR * ms) / Math.max(ours, plain)));
  const bar = (kind: string, ms: number, at: number, text: string) =>
    `<rect class="${kind}" x="${LEFT}" y="${at}" width="${width(ms)}" height="14"/>` +
    `<text class="label" x="${LEFT + width(ms) + 8}" y="${at + 12}">${escaped(text)}</text>`;
  return [
    `<text x="20" y="${y + 22}">${escaped(what)}</text>`,
    bar('ours', ours, y + 2, `${said(ours)}, ${(ours / plain).toFixed(1)} ×`),
    bar('plain', plain, y + 20, `${said(plain)}, ${plainName}`),
  ].join('');
}

/** Of a part that was not measured there is none. */
function pairsOf({ direct, saga, guest, snapshots, door, idle }: Report): Pair[] {
  const { commands, files } = guest ?? {};
  const [up, down] = ['up', 'down'].map((way) => [`${way}, through the API`, `${way}, sftp`] as const);
  const { snapshots: disk, full } = snapshots ?? {};
  return [
    pair('create', saga?.spreads, 'create', 'its steps alone', direct?.spreads, 'create'),
    pair('destroy, with its proof', saga?.spreads, 'destroy', 'its steps alone', direct?.spreads, 'destroy'),
    pair('run a command', commands, 'true, through the API', 'ssh2', commands, 'true, plain ssh2'),
    up && pair('100 MiB up', files, up[0], 'sftp', files, up[1]),
    down && pair('100 MiB down', files, down[0], 'sftp', files, down[1]),
    pair('disk snapshot', disk, 'through the API, until ready', 'virsh', disk, PLAIN_DISK),
    pair('snapshot with memory', full, 'full snapshot through the API, until ready', 'virsh', full, PLAIN_FULL),
    pair('wake from memory', full, 'restore through the API, until running', 'virsh restore', full, 'virsh restore'),
    pair('GET', door?.spreads, 'GET, of one that runs', 'its read alone', door?.spreads, 'GET, its read alone'),
    pair('list', door?.spreads, 'list, 50 a page', 'its query alone', door?.spreads, 'list, its query alone'),
    pair('PATCH', door?.spreads, 'PATCH', 'an empty update', door?.spreads, 'PATCH, an update that writes nothing'),
    pair('mayfly --version', idle?.cli, 'mayfly --version', 'an empty Node', idle?.cli, 'node -e 0'),
  ].filter((one) => one !== undefined && one !== null);
}

const PLAIN_DISK = 'virsh snapshot-create-as --disk-only --quiesce';
const PLAIN_FULL = 'virsh snapshot-create-as --live --memspec';

function pair(what: string, by: Spreads, oursName: string, plainName: string, beside: Spreads, name: string) {
  const [ours, plain] = [by?.[oursName], beside?.[name]];
  return ours && plain ? { what, ours: ours.medianMs, plainName, plain: plain.medianMs } : null;
}

function said(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
