// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the braces are those of a Dockerfile
/** Dockerfile with the files that it copies, for both Mayfly and buildah. */
export interface DockerfileCase {
  title: string;
  /** Content after FROM, or the whole file if it has its own FROM. */
  dockerfile: string;
  /** Contents by path; a folder ends with `/`, `-> x` is a link, `0755 x` a file with that mode. */
  files?: Record<string, string>;
  modes?: Record<string, number>;
  args?: Record<string, string>;
  target?: string;
  /** Declared differences of the trees, with reasons; '' is about the build's success. */
  declared?: Record<string, string>;
}

/** Base image named in FROM. */
export const BASE = 'localhost/debian:12';

/** Files that most cases copy. */
export const TREE = {
  'dir/a': 'a',
  'dir/sub/b': 'b',
  'dir/sub/deep/c': 'c',
  'dir/empty/': '',
  'dir/run': '0755 #!/bin/sh',
  one: '1',
  two: '2',
};

/** Cases of steps, without heredocs, `${x-y}` and `${x+y}`, which Debian 12's buildah does not support. */
export const STEPS: readonly DockerfileCase[] = [
  { title: 'WORKDIR of variables', dockerfile: 'ENV A=/srv/x\nWORKDIR $A/${B:-y}\nRUN pwd > /srv/where' },
  {
    title: 'WORKDIR of another user',
    dockerfile:
      'USER sandbox\nWORKDIR /srv/own\nRUN id -un > /tmp/x || true\nUSER root\nRUN stat -c %U /srv/own > /srv/whose',
  },
  {
    title: 'ARG scopes',
    dockerfile:
      'ARG BASE=localhost/debian:12\nARG X=global\nFROM $BASE\nRUN echo "a$X" > /srv/a\nARG X\nRUN echo "b$X" > /srv/b\nARG X=local\nRUN echo "c$X" > /srv/c',
  },
  {
    title: 'ARG given',
    dockerfile:
      'ARG A=1\nARG B\nARG C=$A$B\nRUN echo "$A $B $C" > /srv/a\nENV A=env\nRUN echo "$A" > /srv/b\nARG A=again\nRUN echo "$A" > /srv/c',
    args: { A: 'x', B: 'y' },
  },
  {
    title: 'ENV is as it was before its line',
    dockerfile: 'ENV abc=hello\nENV abc=bye def=$abc\nENV ghi=$abc\nRUN echo "$abc $def $ghi" > /srv/a',
  },
  {
    title: 'ENV with blanks, quotes and backslashes',
    dockerfile:
      'ENV A="x y" B=x\\ y C=\'$A\' D="\\$A" E=$A\nENV F it is  old  form\nRUN printf "%s|" "$A" "$B" "$C" "$D" "$E" "$F" > /srv/a',
  },
  {
    title: 'expansions',
    dockerfile:
      'ENV A=a E=\nENV B=${A:+set} C=${N:-def} D=${E:-empty} H=\\${A} I=${A}b J=$Ab\nRUN printf "%s|" "$B" "$C" "$D" "$H" "$I" "$J" > /srv/a',
  },
  {
    title: 'continued lines and comments',
    dockerfile:
      '# c\nRUN echo a \\\n  # a comment inside\n\n  b \\\n  c > /srv/a\n  # indented\nRUN echo d > /srv/d # no comment',
  },
  {
    title: 'escape directive',
    dockerfile:
      '# escape=`\nFROM localhost/debian:12\nRUN echo a `\n  b > /srv/a\nENV P=C:\\x\\y\nRUN printf %s "$P" > /srv/p',
    declared: { 'srv/p': 'a backslash is no escape there; buildah takes it for one' },
  },
  {
    title: 'exec form',
    dockerfile:
      'RUN ["/bin/sh", "-c", "echo \\"a  b\\" > /srv/a"]\nRUN [ "/usr/bin/touch" , "/srv/x y" , "/srv/$HOME" ]\nRUN ["/bin/sh", "-c", "printf \'%s\' \\"$0|$1\\" > /srv/b", "p q", "\\u00e4\\tb"]',
  },
  {
    title: 'not quite exec form',
    dockerfile: "RUN ['echo', 'a'] > /srv/a || echo shell > /srv/b\nRUN [ -d /srv ] && echo yes > /srv/c",
  },
  {
    title: 'SHELL',
    dockerfile:
      'SHELL ["/bin/bash", "-euc"]\nRUN echo "${BASH_VERSION:+bash}" > /srv/a; [[ a == a* ]] && echo yes >> /srv/a',
  },
  {
    title: 'what is in the environment',
    dockerfile:
      'ENV X=1\nRUN env | grep -E "^(HOME|PATH|X)=" | sort > /srv/env; pwd > /srv/pwd; umask > /srv/umask; ulimit -c > /srv/core',
  },
  {
    title: 'stages',
    dockerfile:
      'FROM localhost/debian:12 AS one\nRUN mkdir -p /out/sub && echo a > /out/a && echo b > /out/sub/b && chown -R 1000:1000 /out && ln -s a /out/l && chmod 4755 /out/a\nFROM localhost/debian:12\nCOPY --from=one /out /srv/out\nCOPY --from=one /out/a /srv/one\nCOPY --from=0 /out/sub/ /srv/sub/\nCOPY --from=one --chown=0:0 /out/* /srv/g/',
  },
  {
    title: 'a stage from a stage',
    dockerfile:
      'FROM localhost/debian:12 AS base\nENV A=1\nWORKDIR /srv/w\nRUN echo b > base\nFROM base AS mid\nRUN echo "$A" > mid\nFROM base\nRUN echo last > last; ls > /srv/ls\nCOPY --from=mid /srv/w/mid /srv/frommid',
  },
  {
    title: 'a target',
    dockerfile:
      'FROM localhost/debian:12 AS one\nRUN echo 1 > /srv/one\nFROM one AS two\nRUN echo 2 > /srv/two\nFROM two\nRUN echo 3 > /srv/three',
    target: 'two',
  },
  {
    title: 'case of words',
    dockerfile:
      'from localhost/debian:12 as base\nrun echo a > /srv/a\nFROM base\nenv x=1\ncopy --from=base /srv/a /srv/b',
  },
  {
    title: 'hard links, xattrs and fifos of RUN',
    dockerfile:
      'RUN echo a > /srv/a; ln /srv/a /srv/b; mkfifo /srv/p; mknod /srv/null c 1 3; chmod 2775 /srv; touch "$(printf \'/srv/new\\012line\')"',
    declared: { 'srv/null': 'a layer may have a device; under chroot isolation buildah leaves it out' },
  },
  {
    title: 'a user who is a number',
    dockerfile:
      'RUN chmod 777 /srv\nUSER 1000\nRUN id -u > /srv/a; id -g >> /srv/a; echo "$HOME" >> /srv/a\nUSER 4711\nRUN id -u > /srv/b; id -G >> /srv/b\nWORKDIR /srv/w/x\nUSER 0\nRUN id -un > /srv/c',
  },
  {
    title: 'a comment after a continued line, and tabs',
    dockerfile: 'RUN\techo a \\\n\t# c\n\t&& echo b > /srv/b\nENV\tX=1\tY=2\nRUN echo "$X$Y" > /srv/c',
  },
  {
    title: 'ENV for COPY, ARG for FROM',
    dockerfile:
      'ARG TAG=12\nFROM localhost/debian:${TAG} AS x\nENV T=/srv/t\nCOPY one $T/$TAG-x\nARG TAG\nCOPY two $T/${TAG}-y',
    files: TREE,
  },
  {
    title: 'stages with links and owners',
    dockerfile:
      'FROM localhost/debian:12 AS a\nRUN mkdir -p /o/d && ln -s d /o/l && echo x > /o/d/f && chown 1:2 /o/d/f && chmod 2751 /o/d && ln /o/d/f /o/d/g\nFROM localhost/debian:12\nCOPY --from=a /o/l /srv/l\nCOPY --from=a /o /srv/all\nCOPY --from=a --chmod=600 /o/d/f /srv/f\nCOPY --from=a --chown=9:9 /o/d /srv/owned',
  },
  { title: 'nothing', dockerfile: '' },
  { title: 'a step that fails', dockerfile: 'RUN false' },
  {
    title: 'processes and files they hold',
    dockerfile:
      'RUN (sleep 100 >/dev/null 2>&1 &) ; echo x > /srv/x\nRUN rm /srv/x; mkdir /srv/x; touch /srv/x/y\nRUN rm -rf /srv/x; ln -s / /srv/x',
  },
  { title: 'quotes in RUN', dockerfile: 'RUN echo "a\\"b" \'c d\' e\\ f $HOME \\$HOME "$(echo "x y")" > /srv/a' },
];
