/** A box: its corner, its size, its name, and what it keeps or does, a line each. Pixels. */
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  name: string;
  lines: string[];
}

interface Arrow {
  from: [x: number, y: number];
  to: [x: number, y: number];
  label: string;
  /** Where the label begins, from the middle of the arrow. */
  shift?: [x: number, y: number];
}

const BOXES: Box[] = [
  { x: 20, y: 20, width: 190, height: 64, name: 'callers', lines: ['curl, MayflyClient, CLI'] },
  { x: 290, y: 20, width: 250, height: 84, name: 'API', lines: ['mayfly serve api', 'keeps nothing'] },
  {
    x: 20,
    y: 180,
    width: 190,
    height: 104,
    name: 'store',
    lines: ['MongoDB or embedded', 'records, audit,', 'output of commands'],
  },
  {
    x: 290,
    y: 180,
    width: 250,
    height: 84,
    name: 'Temporal',
    lines: ['what must still happen:', 'histories, timers, queues'],
  },
  {
    x: 20,
    y: 370,
    width: 250,
    height: 104,
    name: 'control worker',
    lines: ['mayfly serve control', 'runs workflows; keeps', 'the user CA, the audit key'],
  },
  {
    x: 340,
    y: 370,
    width: 260,
    height: 104,
    name: 'host worker',
    lines: ['mayfly serve host, one a machine', 'steps; keeps its ledger and its', 'keys to its sandboxes'],
  },
  {
    x: 680,
    y: 370,
    width: 190,
    height: 104,
    name: 'libvirt, QEMU',
    lines: ['domains, disks, leases', 'agent in each guest'],
  },
];

const ARROWS: Arrow[] = [
  { from: [210, 52], to: [290, 52], label: 'HTTP', shift: [-16, -8] },
  { from: [415, 104], to: [415, 180], label: 'start, update, signal', shift: [8, 4] },
  { from: [330, 104], to: [190, 180], label: 'reads', shift: [-46, 0] },
  { from: [340, 264], to: [200, 370], label: 'queue control', shift: [-96, -6] },
  { from: [450, 264], to: [470, 370], label: 'queue host/<id>', shift: [12, 0] },
  { from: [90, 370], to: [90, 284], label: 'records, audit', shift: [8, 8] },
  { from: [600, 422], to: [680, 422], label: 'virsh', shift: [-16, -8] },
  { from: [540, 62], to: [590, 370], label: 'relay (TLS): live output, files', shift: [12, -40] },
];

/** docs/architecture.svg: which processes there are, and what goes between them. In the colours of whoever reads. */
export function architecturePicture(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 890 500" role="img" aria-label="Processes of Mayfly">
<style>
  text { font: 14px sans-serif; fill: #1f2328 } .name { font-weight: bold } .label { font-size: 12px }
  rect { fill: #f6f8fa; stroke: #57606a } path { stroke: #57606a; fill: none } marker path { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } rect { fill: #161b22; stroke: #8b949e } path { stroke: #8b949e } marker path { fill: #8b949e }
  }
</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>
${BOXES.map(boxOf).join('\n')}
${ARROWS.map(arrowOf).join('\n')}
</svg>
`;
}

function boxOf({ x, y, width, height, name, lines }: Box): string {
  const text = lines.map((line, n) => `<text x="${x + 12}" y="${y + 44 + 20 * n}">${escaped(line)}</text>`);
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`,
    `<text class="name" x="${x + 12}" y="${y + 24}">${escaped(name)}</text>`,
    ...text,
  ].join('');
}

function arrowOf({ from, to, label, shift = [0, 0] }: Arrow): string {
  const [x, y] = [(from[0] + to[0]) / 2 + shift[0], (from[1] + to[1]) / 2 + shift[1]];
  const line = `<path d="M${from[0]} ${from[1]}L${to[0]} ${to[1]}" marker-end="url(#end)"/>`;
  return `${line}<text class="label" x="${x}" y="${y}">${escaped(label)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
