import { escaped, type Size, svg } from '../../bench/svg.ts';

/** A box: its corner, its size, its name, and what it keeps or does, a line each. Pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  name: string;
  lines: string[];
}

export interface Arrow {
  from: [x: number, y: number];
  to: [x: number, y: number];
  label: string;
  /** Where the label begins, from the middle of the arrow. */
  shift?: [x: number, y: number];
}

interface Picture extends Size {
  boxes: Box[];
  arrows: Arrow[];
}

/** Boxes and arrows. */
export function picture({ boxes, arrows, ...size }: Picture): string {
  const head =
    '<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker>';
  const body = [`<defs>${head}</defs>`, ...boxes.map(boxOf), ...arrows.map(arrowOf)];
  return svg(size, ARROW_STYLE, body.join('\n'));
}

const ARROW_STYLE = `
  path { stroke: #57606a; fill: none } marker path { fill: #57606a }
  @media (prefers-color-scheme: dark) { path { stroke: #8b949e } marker path { fill: #8b949e } }`;

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
