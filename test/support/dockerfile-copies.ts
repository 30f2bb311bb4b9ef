// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the braces are those of a Dockerfile
import { type DockerfileCase, TREE } from './dockerfile-cases.ts';

const BITS = 'set-user-id and set-group-id bits of the context stay, as with Docker; buildah drops them';

/** Cases of COPY and ADD, in one stage. */
export const COPIES: readonly DockerfileCase[] = [
  { title: "a folder's content", dockerfile: 'COPY dir /srv/dir', files: TREE },
  { title: 'a folder to a folder with a slash', dockerfile: 'COPY dir /srv/dir/', files: TREE },
  {
    title: 'a file to a name, to a folder, to what is there',
    dockerfile:
      'RUN mkdir /srv/there\nCOPY one /srv/there\nCOPY one /srv/name\nCOPY one /srv/new/\nCOPY one /srv/deep/er/name',
    files: TREE,
  },
  { title: 'several files', dockerfile: 'COPY one two /srv/both/', files: TREE },
  { title: 'a folder and a file', dockerfile: 'COPY dir one /srv/all/', files: TREE },
  { title: 'all of the context', dockerfile: 'WORKDIR /srv\nCOPY . .', files: TREE },
  { title: 'globs', dockerfile: 'COPY dir/* /srv/g/\nCOPY o?e t[a-w]o /srv/h/\nCOPY d*/s*/b /srv/i/', files: TREE },
  {
    title: 'relative WORKDIR',
    dockerfile: 'WORKDIR /srv\nWORKDIR a\nWORKDIR ../b/./c\nRUN pwd > where\nCOPY one ./\nCOPY two x/y',
    files: TREE,
  },
  {
    title: 'USER',
    dockerfile:
      'RUN chmod 777 /srv\nUSER sandbox\nRUN id -un > /srv/a; id -gn >> /srv/a; echo "$HOME" >> /srv/a; umask >> /srv/a\nCOPY one /srv/copied\nUSER 1000\nRUN id -u > /srv/b; echo "$HOME" >> /srv/b\nUSER 65534\nRUN id -u > /srv/c',
    files: TREE,
  },
  {
    title: 'chown and chmod',
    dockerfile:
      'COPY --chown=1000:1000 dir /srv/a\nCOPY --chown=sandbox dir /srv/b/\nCOPY --chmod=640 one /srv/c\nCOPY --chown=nobody:nogroup --chmod=4755 two /srv/d\nCOPY --chown=7:8 one /srv/e',
    files: TREE,
  },
  { title: 'chmod of a folder', dockerfile: 'COPY --chmod=0700 dir /srv/a', files: TREE },
  {
    title: 'links',
    dockerfile: 'COPY dir /srv/dir\nCOPY link /srv/one',
    files: { 'dir/l': '-> a', 'dir/abs': '-> /etc/hostname', 'dir/gone': '-> none', 'dir/a': 'a', link: '-> dir/a' },
  },
  {
    title: 'a link to a folder',
    dockerfile: 'COPY dl /srv/a\nCOPY dl/ /srv/b\nCOPY dl/a /srv/c',
    files: { 'dir/a': 'a', dl: '-> dir' },
  },
  {
    title: 'a target that is a link',
    dockerfile:
      'RUN mkdir /srv/real && ln -s real /srv/l && ln -s real/f /srv/fl\nCOPY one /srv/l/\nCOPY two /srv/fl\nCOPY dir /srv/l',
    files: TREE,
    declared: {
      'srv/real/f':
        'what is copied to a link that leads nowhere is written where it leads; buildah makes a folder there',
      'srv/real/f/two':
        'what is copied to a link that leads nowhere is written where it leads; buildah makes a folder there',
    },
  },
  {
    title: 'over what is there',
    dockerfile:
      'RUN mkdir -p /srv/d/sub && echo old > /srv/d/a && echo keep > /srv/d/k && chmod 700 /srv/d /srv/d/sub && chown -R 1000 /srv/d\nCOPY dir /srv/d',
    files: TREE,
  },
  {
    title: '.dockerignore',
    dockerfile: 'COPY . /srv/',
    files: {
      ...TREE,
      '.dockerignore': '# c\n**/b\n!dir/sub/deep\ntw*\n/one\ndir/empty\n',
      'x.log': 'x',
      'dir/two': '2',
    },
  },
  {
    title: '.dockerignore with !',
    dockerfile: 'COPY . /srv/',
    files: { ...TREE, '.dockerignore': '*\n!dir/sub\ndir/sub/b\n!two\n' },
  },
  {
    title: '.dockerignore of a folder and what is in it',
    dockerfile: 'COPY . /srv/',
    files: { ...TREE, '.dockerignore': 'dir\n!dir/sub/deep/c\n\n  two  \n' },
  },
  {
    title: 'modes',
    dockerfile: 'COPY d /srv/d\nCOPY d/s /srv/s',
    files: { 'd/s': '4755 x', 'd/r': '0400 x', 'd/w': '0666 x' },
    declared: { 'srv/d/s': BITS, 'srv/s': BITS },
  },
  {
    title: 'a name with blanks, and odd ones',
    dockerfile: 'COPY ["a b", "/srv/c d/"]\nCOPY ["[x]", "/srv/"]\nCOPY ä /srv/ö',
    files: { 'a b': 'x', ä: 'y', '[x]': 'z', x: 'not' },
  },
  { title: 'ADD', dockerfile: 'ADD dir /srv/a/\nADD one two /srv/b/', files: TREE },
  {
    title: 'COPY with variables',
    dockerfile: 'ARG N=one\nENV D=/srv/d\nCOPY $N ${D}/x\nCOPY ${N:-two} $D/',
    files: TREE,
  },
  { title: 'a source that is not there', dockerfile: 'COPY none /srv/' },
  {
    title: 'several to no folder',
    dockerfile: 'COPY one two /srv/x',
    files: TREE,
    declared: { '': 'Docker refuses it, as Mayfly does; buildah makes a folder' },
  },
  { title: 'out of the context', dockerfile: 'COPY ../x /srv/', files: TREE },
  { title: 'an empty folder', dockerfile: 'COPY dir/empty /srv/e\nCOPY dir/empty /srv/f/', files: TREE },
  {
    title: 'modes of folders',
    dockerfile: 'COPY d /srv/d\nCOPY . /srv/e/\nCOPY d/x /srv/f/',
    files: { 'd/': '', 'd/x/a': 'a' },
    modes: { d: 0o700, 'd/x': 0o2770 },
    declared: { 'srv/d/x': BITS, 'srv/e/d/x': BITS },
  },
  {
    title: 'an owner of what had to be made',
    dockerfile:
      'COPY --chown=1000:1000 one /srv/a/b/c\nCOPY --chown=1000:1000 one two /srv/d/e/\nCOPY --chown=sandbox:nogroup dir /srv/f/g',
    files: TREE,
  },
  {
    title: 'a folder over a folder with files of its own',
    dockerfile: 'COPY a /srv/x\nCOPY b /srv/x',
    files: { 'a/one': '1', 'a/d/two': '2', 'b/d/three': '3', 'b/one': 'b' },
    modes: { 'a/d': 0o711, 'b/d': 0o750 },
  },
  {
    title: 'a file where a folder is',
    dockerfile: 'COPY dir /srv/one/\nCOPY one /srv',
    files: TREE,
    declared: { '': 'Docker refuses it, as Mayfly does; buildah puts the file in its place' },
  },
  { title: 'an empty context', dockerfile: 'COPY . /srv/all' },
  {
    title: 'an empty file, and one with no newline',
    dockerfile: 'COPY e n /srv/\nCOPY e /srv/f',
    files: { e: '', n: 'no newline' },
  },
  {
    title: 'files that begin with a dash or a dot',
    dockerfile: 'COPY . /srv/\nCOPY .h* /srv/hidden/',
    files: { '-x': 'a', '--': 'b', '.hidden': 'c', '.h/d': 'd' },
  },
  {
    title: 'globs that match folders',
    dockerfile: 'COPY d* /srv/\nCOPY */x /srv/x/',
    files: { 'd1/x': '1', 'd2/y': '2', d3: '3' },
  },
  {
    title: 'globs with classes and escapes',
    dockerfile: 'COPY [a-b][!1] /srv/\nCOPY \\[x] /srv/y',
    files: { a1: '1', a2: '2', c4: '4', '[x]': 'z' },
  },
  { title: 'globs with a negated class', dockerfile: 'COPY [a-b][^1] /srv/', files: { a1: '1', a2: '2', c4: '4' } },
  {
    title: 'trailing slashes and dots',
    dockerfile: 'COPY ./dir/. /srv/a/.\nCOPY dir/./sub/../a /srv/b\nCOPY /one /srv//c',
    files: TREE,
  },
  {
    title: 'what a step before has removed',
    dockerfile: 'COPY dir /srv/d\nRUN rm -r /srv/d/sub\nCOPY one /srv/d/sub',
    files: TREE,
  },
];
