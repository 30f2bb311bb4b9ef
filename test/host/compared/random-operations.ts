import { childrenOf, fileAt, isBelow, type Kind, type LoggedFile, type LoggedTree, parentOf } from './logged-tree.ts';

/** Prefixes of names, bytes as Latin-1, that break terminals, shells, lines and encodings. */
const NAMES = [
  'plain',
  'new\nline',
  ' spaces ',
  `q'u"o\\te`,
  'esc\u001b[31m\u0007',
  '\xff\xfe',
  '-rf',
  '*$(id)',
  '\xc3\xbc',
  '\t',
];

/** Returns a mulberry32 generator: a seed repeats the same operations. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Generates random operations on a tree: keeps a log of their effects, and returns them as a Perl program. */
export class RandomOperations {
  readonly tree: LoggedTree = new Map();
  #lines: string[] = [];
  #made = 0;
  #clock = 0;

  /** @param root folder of the guest for everything; created by the program */
  constructor(
    private readonly root: string,
    private readonly random: (below: number) => number,
  ) {
    this.tree.set('', this.#new('directory', ''));
    this.#lines.push(`did mkdir ${hex(root)}, 0755;`);
  }

  /** Generates this many operations. @returns their Perl program */
  program(count: number): string {
    for (let done = 0; done < count; ) if (this.#one()) done += 1;
    const program = [PRELUDE, this.#lines.join('\ntick;\n'), `print "${this.#lines.length} done\\n";`].join('\n');
    this.#lines = [];
    return program;
  }

  #one(): boolean {
    this.#clock += 1;
    const operations = [
      () => this.#create(),
      () => this.#create(),
      () => this.#append(),
      () => this.#overwrite(),
      () => this.#truncate(),
      () => this.#chmod(),
      () => this.#chown(),
      () => this.#rename(['file', 'symlink', 'fifo', 'socket', 'char-device']),
      () => this.#rename(['directory']),
      () => this.#link(),
      () => this.#symlink(),
      () => this.#mkdir(),
      () => this.#rmdir(),
      () => this.#unlink(),
      () => this.#setfattr(),
      () => this.#special(),
    ];
    return operations[this.random(operations.length)]?.() ?? false;
  }

  #create(): boolean {
    const content = this.#content(this.random(4) === 0 ? 200_000 : 2_000);
    return this.#make('file', content, (path) => `create ${path}, ${text(content)};`);
  }

  #mkdir(): boolean {
    return this.#make('directory', '', (path) => `did mkdir ${path}, 0755;`);
  }

  #symlink(): boolean {
    const target = `${NAMES[this.random(NAMES.length)]}/`.repeat(1 + this.random(12));
    return this.#make('symlink', target, (path) => `did symlink ${hex(target)}, ${path};`);
  }

  /** mknod(2): fifo 0010000, socket 0140000, character device 0020000 with number 0x0107 or 0x0109. */
  #special(): boolean {
    const which = this.random(3);
    const minor = 7 + 2 * this.random(2);
    if (which === 0) return this.#make('fifo', '', (path) => `mknod ${path}, 0010644, 0;`);
    if (which === 1) return this.#make('socket', '', (path) => `mknod ${path}, 0140644, 0;`);
    return this.#make('char-device', `1:${minor}`, (path) => `mknod ${path}, 0020644, ${256 + minor};`);
  }

  #append(): boolean {
    const more = this.#content(3_000);
    return this.#write(
      (content) => content + more,
      (path) => `append ${path}, ${text(more)};`,
    );
  }

  #overwrite(): boolean {
    let fresh = '';
    return this.#write(
      (content) => {
        if (content.length < 8) return content;
        const piece = `${this.random(1e9)}\n`;
        fresh = piece.repeat(Math.ceil(content.length / piece.length)).slice(0, content.length);
        return fresh;
      },
      (path) => `overwrite ${path}, ${text(fresh)};`,
    );
  }

  #truncate(): boolean {
    const size = this.random(4_000);
    return this.#write(
      (content) => content.slice(0, size).padEnd(size, '\0'),
      (path) => `did truncate ${path}, ${size};`,
    );
  }

  #write(change: (content: string) => string, line: (path: string) => string): boolean {
    const path = this.#pick('file');
    if (path === null) return false;
    const file = fileAt(this.tree, path);
    const content = change(file.content);
    if (content === file.content || content.length > 600_000) return false;
    Object.assign(file, { content, mtime: this.#clock });
    return this.#say(line(this.#at(path)));
  }

  #chmod(): boolean {
    const path = this.#pick('file', 'directory', 'fifo');
    if (path === null) return false;
    const mode = this.random(0o2000);
    fileAt(this.tree, path).mode = mode;
    return this.#say(`did chmod ${mode}, ${this.#at(path)};`);
  }

  #chown(): boolean {
    const path = this.#pick('file', 'directory', 'symlink', 'fifo');
    if (path === null) return false;
    const [uid, gid] = [this.random(70_000), this.random(70_000)];
    Object.assign(fileAt(this.tree, path), { uid, gid });
    return this.#say(`lchown ${this.#at(path)}, ${uid}, ${gid};`);
  }

  #setfattr(): boolean {
    const path = this.#pick('file', 'directory');
    if (path === null) return false;
    const [name, value] = [`user.note${this.random(3)}`, `${this.random(1e6)}\n\xff`];
    fileAt(this.tree, path).xattrs[name] = value;
    return this.#say(`setxattr ${this.#at(path)}, ${hex(name)}, ${hex(value)};`);
  }

  #rename(kinds: Kind[]): boolean {
    const from = this.#pick(...kinds);
    if (from === null) return false;
    const { kind } = fileAt(this.tree, from);
    const onto = this.random(3) === 0 ? this.#pick(kind) : null;
    const to = onto ?? this.#newPath();
    if (to === from || isBelow(to, from) || isBelow(from, to) || fileAt(this.tree, from) === this.tree.get(to))
      return false;
    if (kind === 'directory' && childrenOf(this.tree, to).length > 0) return false;
    const moved = [...this.tree].filter(([path]) => path === from || isBelow(path, from));
    for (const [path, file] of moved) {
      this.tree.delete(path);
      this.tree.set(to + path.slice(from.length), file);
    }
    this.#touchFolders(from, to);
    return this.#say(`did rename ${this.#at(from)}, ${this.#at(to)};`);
  }

  #link(): boolean {
    const from = this.#pick('file', 'symlink', 'fifo');
    if (from === null) return false;
    const to = this.#newPath();
    this.tree.set(to, fileAt(this.tree, from));
    this.#touchFolders(to);
    return this.#say(`did link ${this.#at(from)}, ${this.#at(to)};`);
  }

  #rmdir(): boolean {
    const empty = this.#paths('directory').filter((path) => childrenOf(this.tree, path).length === 0);
    return this.#remove(empty[this.random(empty.length)] ?? null, 'rmdir');
  }

  #unlink(): boolean {
    return this.#remove(this.#pick('file', 'symlink', 'fifo', 'socket', 'char-device'), 'unlink');
  }

  #remove(path: string | null, call: string): boolean {
    if (path === null) return false;
    this.tree.delete(path);
    this.#touchFolders(path);
    return this.#say(`did ${call} ${this.#at(path)};`);
  }

  #make(kind: Kind, content: string, line: (path: string) => string): boolean {
    const path = this.#newPath();
    this.tree.set(path, this.#new(kind, content));
    this.#touchFolders(path);
    return this.#say(line(this.#at(path)));
  }

  #new(kind: Kind, content: string): LoggedFile {
    this.#made += 1;
    const mode = kind === 'symlink' ? 0o777 : kind === 'directory' ? 0o755 : 0o644;
    return { id: this.#made, kind, content, mode, uid: 0, gid: 0, mtime: this.#clock, xattrs: {} };
  }

  #touchFolders(...paths: string[]): void {
    for (const path of paths) fileAt(this.tree, parentOf(path)).mtime = this.#clock;
  }

  #newPath(): string {
    this.#made += 1;
    const folders = ['', ...this.#paths('directory')];
    return `${folders[this.random(folders.length)]}/${NAMES[this.random(NAMES.length)]}${this.#made}`;
  }

  #paths(...kinds: Kind[]): string[] {
    return [...this.tree].flatMap(([path, { kind }]) => (path !== '' && kinds.includes(kind) ? [path] : []));
  }

  #pick(...kinds: Kind[]): string | null {
    const paths = this.#paths(...kinds);
    return paths[this.random(paths.length)] ?? null;
  }

  /** Returns a short piece, repeated. */
  #content(upTo: number): string {
    return `${this.random(1e9)}\n`.repeat(this.random(upTo) / 8);
  }

  #at(path: string): string {
    return hex(this.root + path);
  }

  #say(line: string): true {
    this.#lines.push(line);
    return true;
  }
}

function hex(bytes: string): string {
  return `n('${Buffer.from(bytes, 'latin1').toString('hex')}')`;
}

/** Returns content as a Perl expression: a piece and its count, so that the program stays small. */
function text(content: string): string {
  const piece = content.slice(0, content.indexOf('\n') + 1);
  const times = piece === '' ? 0 : Math.floor(content.length / piece.length);
  if (piece.repeat(times) === content) return `${hex(piece)} x ${times}`;
  return `(${hex(piece)} x ${times}) . ${hex(content.slice(piece.length * times))}`;
}

/**
 * Start of each program. `tick` waits for the kernel's file clock, which ticks every 10 ms at the slowest (CONFIG_HZ),
 * so that two operations have different times. Call numbers are those of x86-64
 * (arch/x86/entry/syscalls/syscall_64.tbl).
 */
const PRELUDE = `use strict;
sub n { pack 'H*', shift }
sub did { $_[0] or die "$!" }
sub lchown { my ($p, $u, $g) = @_; syscall(94, $p, $u, $g) == 0 or die "lchown: $!" }
sub setxattr { my ($p, $n, $v) = @_; syscall(188, $p, $n, $v, length $v, 0) == 0 or die "setxattr: $!" }
sub mknod { my ($p, $m, $d) = @_; syscall(133, $p, $m, $d) == 0 or die "mknod: $!" }
sub put { my ($how, $p, $t) = @_; open(my $f, $how, $p) or die "open: $!"; print {$f} $t or die "$!"; close $f or die "$!" }
sub create { -e $_[0] and die 'is there'; put('>', @_) }
sub append { put('>>', @_) }
sub overwrite { put('+<', @_) }
sub tick { select undef, undef, undef, 0.011 }
umask 022;
`;
