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

interface Picture {
  width: number;
  height: number;
  /** For whoever cannot see it. */
  label: string;
  boxes: Box[];
  arrows: Arrow[];
}

/** An SVG in the colours of whoever reads. */
export function picture({ width, height, label, boxes, arrows }: Picture): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(label)}">
<style>
  text { font: 14px sans-serif; fill: #1f2328 } .name { font-weight: bold } .label { font-size: 12px }
  rect { fill: #f6f8fa; stroke: #57606a } path { stroke: #57606a; fill: none } marker path { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } rect { fill: #161b22; stroke: #8b949e } path { stroke: #8b949e } marker path { fill: #8b949e }
  }
</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>
${boxes.map(boxOf).join('\n')}
${arrows.map(arrowOf).join('\n')}
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
