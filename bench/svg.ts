/** Pixels. */
export interface Size {
  width: number;
  height: number;
  /** For whoever cannot see it. */
  label: string;
}

/** An SVG in the colours of whoever reads: in GitHub's, light or dark. */
export function svg({ width, height, label }: Size, style: string, body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(label)}">
<style>
  text { font: 14px sans-serif; fill: #1f2328 } .name { font-weight: bold } .label { font-size: 12px }
  rect { fill: #f6f8fa; stroke: #57606a }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } rect { fill: #161b22; stroke: #8b949e } }${style}
</style>
${body}
</svg>
`;
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
