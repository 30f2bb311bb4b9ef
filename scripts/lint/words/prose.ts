import ts from 'typescript';

/** A text at a line, from 1. */
export interface Passage {
  line: number;
  text: string;
}

export interface Comment extends Passage {
  /** A doc comment. */
  isDoc: boolean;
}

interface Prose {
  comments: Comment[];
  /** Texts of several words, as users see them. */
  texts: Passage[];
  /** Titles of tests. */
  titles: Passage[];
  functions: { line: number; name: string }[];
}

const TITLED = new Set(['it', 'test', 'describe', 'sweep', 'each', 'only']);

/** Splits a source into its comments, its texts for users, its test titles and its function names. */
export function proseOfTypeScript(path: string, source: string): Prose {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: Prose = { comments: commentsOf(source, file), texts: [], titles: [], functions: [] };
  const isTest = path.startsWith('test/');
  const visit = (node: ts.Node) => {
    const line = () => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
    const name = functionName(node);
    if (name) found.functions.push({ line: line(), name });
    const text = isTest ? titleOf(node) : textOf(node, file);
    if (text) (isTest ? found.titles : found.texts).push({ line: line(), text });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function commentsOf(source: string, file: ts.SourceFile): Comment[] {
  const comments: Comment[] = [];
  const ranges = new Map<number, ts.CommentRange>();
  const collect = (node: ts.Node) => {
    for (const range of ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []) ranges.set(range.pos, range);
    for (const range of ts.getTrailingCommentRanges(source, node.getEnd()) ?? []) ranges.set(range.pos, range);
    for (const child of node.getChildren(file)) collect(child);
  };
  collect(file);
  for (const { pos, end } of ranges.values()) {
    const raw = source.slice(pos, end);
    const isDoc = raw.startsWith('/**');
    const text = raw.replaceAll(/^\/\*\*?|\*\/$|^\/\/ ?|^\s*\* ?/gm, '').trim();
    comments.push({ line: file.getLineAndCharacterOfPosition(pos).line + 1, text, isDoc });
  }
  return comments;
}

function functionName(node: ts.Node): string | undefined {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) return node.name?.getText();
  const isArrow = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node);
  return isArrow && node.initializer && ts.isArrowFunction(node.initializer) ? node.name.getText() : undefined;
}

/** A title of a test. */
function titleOf(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const [first] = node.arguments;
  if (!first || !ts.isStringLiteralLike(first)) return undefined;
  const callee = node.expression.getText();
  const isTitled = callee.split(/[.(]/).some((word) => TITLED.has(word)) || /[sS]weep/.test(callee);
  return isTitled && node.arguments.length > 1 ? first.text : undefined;
}

/** A text of several words, as users see them. */
function textOf(node: ts.Node, file: ts.SourceFile): string | undefined {
  if (ts.isImportDeclaration(node.parent ?? node)) return undefined;
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
  const text = isText
    ? node
        .getText(file)
        .slice(1, -1)
        .replaceAll(/\$\{[^}]*\}/g, 'N')
    : '';
  return text.trim().split(/\s+/).length >= 4 ? text : undefined;
}

/** Line comments of Go and shell: those of consecutive lines are one. */
export function lineComments(source: string, mark: RegExp): Comment[] {
  const comments: Comment[] = [];
  let open: Comment | undefined;
  for (const [at, line] of source.split('\n').entries()) {
    const text = mark.exec(line)?.[1];
    if (text !== undefined && open) open.text += ` ${text}`;
    else if (text === undefined) open = undefined;
    else {
      open = { line: at + 1, text, isDoc: false };
      comments.push(open);
    }
  }
  return comments;
}

/** Lines of a page, code excluded. */
export function paragraphs(source: string): Passage[] {
  const prose = source.replaceAll(/```[\s\S]*?```/g, (code) => '\n'.repeat(code.split('\n').length - 1));
  const lines = prose.split('\n').map((text, at) => ({ line: at + 1, text }));
  return lines.filter(({ text }) => text.trim() !== '');
}
