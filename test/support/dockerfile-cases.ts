/** A Dockerfile with what it copies from, for Mayfly and for buildah to build. */
export interface DockerfileCase {
  title: string;
  /** Behind FROM, unless it has one. */
  dockerfile: string;
  /** Text of files by path; a folder ends with `/`, `-> x` is a link, `0755 x` a file with that mode. */
  files?: Record<string, string>;
  args?: Record<string, string>;
  target?: string;
  /** What of the trees differs, and why. */
  declared?: Record<string, string>;
}

/** FROM in each. */
export const BASE = 'localhost/debian:12';

const TREE = { 'dir/a': 'a', 'dir/sub/b': 'b', 'dir/sub/deep/c': 'c', 'dir/empty/': '', 'dir/run': '0755 #!/bin/sh', 'one': '1', 'two': '2' };

export const CASES: DockerfileCase[] = [
  { title: 'nothing', dockerfile: '' },
  { title: "a folder's content", dockerfile: 'COPY dir /srv/dir', files: TREE },
  { title: 'a folder to a folder with a slash', dockerfile: 'COPY dir /srv/dir/', files: TREE },
  { title: 'a file to a name, to a folder, to what is there', dockerfile: 'RUN mkdir /srv/there\nCOPY one /srv/there\nCOPY one /srv/name\nCOPY one /srv/new/\nCOPY one /srv/deep/er/name', files: TREE },
  { title: 'several files', dockerfile: 'COPY one two /srv/both/', files: TREE },
  { title: 'a folder and a file', dockerfile: 'COPY dir one /srv/all/', files: TREE },
  { title: 'all of the context', dockerfile: 'WORKDIR /srv\nCOPY . .', files: TREE },
  { title: 'globs', dockerfile: 'COPY dir/* /srv/g/\nCOPY o?e t[a-w]o /srv/h/\nCOPY d*/s*/b /srv/i/', files: TREE },
  { title: 'relative WORKDIR', dockerfile: 'WORKDIR /srv\nWORKDIR a\nWORKDIR ../b/./c\nRUN pwd > where\nCOPY one ./\nCOPY two x/y', files: TREE },
  { title: 'WORKDIR of variables', dockerfile: 'ENV A=/srv/x\nWORKDIR $A/${B:-y}\nRUN pwd > /srv/where' },
  { title: 'WORKDIR of another user', dockerfile: 'USER sandbox\nWORKDIR /srv/own\nRUN id -un > /tmp/x || true\nUSER root\nRUN stat -c %U /srv/own > /srv/whose' },
  { title: 'ARG scopes', dockerfile: `ARG BASE=${BASE}\nARG X=global\nFROM $BASE\nRUN echo "a$X" > /srv/a\nARG X\nRUN echo "b$X" > /srv/b\nARG X=local\nRUN echo "c$X" > /srv/c` },
  { title: 'ARG given', dockerfile: 'ARG A=1\nARG B\nARG C=$A$B\nRUN echo "$A $B $C" > /srv/a\nENV A=env\nRUN echo "$A" > /srv/b\nARG A=again\nRUN echo "$A" > /srv/c', args: { A: 'x', B: 'y' } },
  { title: 'ENV is as it was before its line', dockerfile: 'ENV abc=hello\nENV abc=bye def=$abc\nENV ghi=$abc\nRUN echo "$abc $def $ghi" > /srv/a' },
  { title: 'ENV with blanks, quotes and backslashes', dockerfile: 'ENV A="x y" B=x\\ y C=\'$A\' D="\\$A" E=$A\nENV F it is  old  form\nRUN printf "%s|" "$A" "$B" "$C" "$D" "$E" "$F" > /srv/a' },
  { title: 'expansions', dockerfile: 'ENV A=a E=\nENV B=${A:+set} C=${N:-def} D=${E:-empty} F=${E-kept} G=${N+no} H=\\${A} I=${A}b J=$Ab\nRUN printf "%s|" "$B" "$C" "$D" "$F" "$G" "$H" "$I" "$J" > /srv/a' },
  { title: 'heredocs', dockerfile: 'RUN <<EOF\necho one > /srv/one\necho "$HOME" > /srv/home\nFROM=x; echo $FROM >> /srv/one\nEOF\nRUN <<"EOF" cat > /srv/two\n$HOME `id` \\\nx\nEOF\nRUN cat <<A - <<B > /srv/three\na\nA\nb\nB' },
  { title: 'heredoc with tabs', dockerfile: 'RUN <<-EOF\n\techo a > /srv/a\n\t\techo b > /srv/b\n\tEOF' },
  { title: 'COPY of heredocs', dockerfile: 'ENV X=x\nCOPY <<a <<"b" /srv/\n$X\na\n$X\nb\nCOPY --chmod=600 --chown=1000 <<EOF /srv/c\nc\nEOF' },
  { title: 'continued lines and comments', dockerfile: '# c\nRUN echo a \\\n  # a comment inside\n\n  b \\\n  c > /srv/a\n  # indented\nRUN echo d > /srv/d # no comment' },
  { title: 'escape directive', dockerfile: `# escape=\`\nFROM ${BASE}\nRUN echo a \`\n  b > /srv/a\nENV P=C:\\x\\y\nRUN printf %s "$P" > /srv/p` },
  { title: 'exec form', dockerfile: 'RUN ["/bin/sh", "-c", "echo \\"a  b\\" > /srv/a"]\nRUN [ "/usr/bin/touch" , "/srv/x y" , "/srv/$HOME" ]\nRUN ["/bin/sh", "-c", "printf \'%s\' \\"$0|$1\\" > /srv/b", "p q", "\\u00e4\\tb"]' },
  { title: 'not quite exec form', dockerfile: "RUN ['echo', 'a'] > /srv/a || echo shell > /srv/b\nRUN [ -d /srv ] && echo yes > /srv/c" },
  { title: 'SHELL', dockerfile: 'SHELL ["/bin/bash", "-euc"]\nRUN echo "${BASH_VERSION:+bash}" > /srv/a; [[ a == a* ]] && echo yes >> /srv/a' },
  { title: 'USER', dockerfile: 'RUN chmod 777 /srv\nUSER sandbox\nRUN id -un > /srv/a; id -gn >> /srv/a; echo "$HOME" >> /srv/a; umask >> /srv/a\nCOPY one /srv/copied\nUSER 1000\nRUN id -u > /srv/b; echo "$HOME" >> /srv/b\nUSER 65534\nRUN id -u > /srv/c', files: TREE },
  { title: 'what is in the environment', dockerfile: 'ENV X=1\nRUN env | grep -v -E "^(PWD|SHLVL|_|OLDPWD)=" | sort > /srv/env; pwd > /srv/pwd; umask > /srv/umask; ulimit -c > /srv/core' },
  { title: 'chown and chmod', dockerfile: 'COPY --chown=1000:1000 dir /srv/a\nCOPY --chown=sandbox dir /srv/b/\nCOPY --chmod=640 one /srv/c\nCOPY --chown=nobody:nogroup --chmod=4755 two /srv/d\nCOPY --chown=7:8 one /srv/e', files: TREE },
  { title: 'chmod of a folder', dockerfile: 'COPY --chmod=0700 dir /srv/a', files: TREE },
  { title: 'links', dockerfile: 'COPY dir /srv/dir\nCOPY link /srv/one', files: { 'dir/l': '-> a', 'dir/abs': '-> /etc/hostname', 'dir/gone': '-> none', 'dir/a': 'a', link: '-> dir/a' } },
  { title: 'a link to a folder', dockerfile: 'COPY dl /srv/a\nCOPY dl/ /srv/b\nCOPY dl/a /srv/c', files: { 'dir/a': 'a', dl: '-> dir' } },
  { title: 'a target that is a link', dockerfile: 'RUN mkdir /srv/real && ln -s real /srv/l && ln -s real/f /srv/fl\nCOPY one /srv/l/\nCOPY two /srv/fl\nCOPY dir /srv/l', files: TREE },
  { title: 'over what is there', dockerfile: 'RUN mkdir -p /srv/d/sub && echo old > /srv/d/a && echo keep > /srv/d/k && chmod 700 /srv/d /srv/d/sub && chown -R 1000 /srv/d\nCOPY dir /srv/d', files: TREE },
  { title: '.dockerignore', dockerfile: 'COPY . /srv/', files: { ...TREE, '.dockerignore': '# c\n**/b\n!dir/sub/deep\ntw*\n/one\ndir/empty\n', 'x.log': 'x', 'dir/two': '2' } },
  { title: '.dockerignore with !', dockerfile: 'COPY . /srv/', files: { ...TREE, '.dockerignore': '*\n!dir/sub\ndir/sub/b\n!two\n' } },
  { title: '.dockerignore of a folder and what is in it', dockerfile: 'COPY . /srv/', files: { ...TREE, '.dockerignore': 'dir\n!dir/sub/deep/c\n\n  two  \n' } },
  { title: 'modes', dockerfile: 'COPY d /srv/d\nCOPY d/s /srv/s', files: { 'd/s': '4755 x', 'd/r': '0400 x', 'd/w': '0666 x' } },
  { title: 'stages', dockerfile: `FROM ${BASE} AS one\nRUN mkdir -p /out/sub && echo a > /out/a && echo b > /out/sub/b && chown -R 1000:1000 /out && ln -s a /out/l && chmod 4755 /out/a\nFROM ${BASE}\nCOPY --from=one /out /srv/out\nCOPY --from=one /out/a /srv/one\nCOPY --from=0 /out/sub/ /srv/sub/\nCOPY --from=one --chown=0:0 /out/* /srv/g/` },
  { title: 'a stage from a stage', dockerfile: `FROM ${BASE} AS base\nENV A=1\nWORKDIR /srv/w\nRUN echo b > base\nFROM base AS mid\nRUN echo "$A" > mid\nFROM base\nRUN echo last > last; ls > /srv/ls\nCOPY --from=mid mid /srv/frommid`, declared: {} },
  { title: 'a target', dockerfile: `FROM ${BASE} AS one\nRUN echo 1 > /srv/one\nFROM one AS two\nRUN echo 2 > /srv/two\nFROM two\nRUN echo 3 > /srv/three`, target: 'two' },
  { title: 'a name with blanks, and odd ones', dockerfile: 'COPY ["a b", "/srv/c d/"]\nCOPY ["[x]", "/srv/"]\nCOPY ä /srv/ö', files: { 'a b': 'x', 'ä': 'y', '[x]': 'z', x: 'not' } },
  { title: 'ADD', dockerfile: 'ADD dir /srv/a/\nADD one two /srv/b/', files: TREE },
  { title: 'COPY with variables', dockerfile: 'ARG N=one\nENV D=/srv/d\nCOPY $N ${D}/x\nCOPY ${N%x} $D/', files: TREE },
  { title: 'case of words', dockerfile: `from ${BASE} as Base\nrun echo a > /srv/a\nFROM base\nenv x=1\ncopy --from=BASE /srv/a /srv/b` },
  { title: 'a step that fails', dockerfile: 'RUN false' },
  { title: 'a source that is not there', dockerfile: 'COPY none /srv/' },
  { title: 'several to no folder', dockerfile: 'COPY one two /srv/x', files: TREE },
  { title: 'out of the context', dockerfile: 'COPY ../x /srv/', files: TREE },
  { title: 'an empty folder', dockerfile: 'COPY dir/empty /srv/e\nCOPY dir/empty /srv/f/', files: TREE },
  { title: 'processes and files they hold', dockerfile: 'RUN (sleep 100 >/dev/null 2>&1 &) ; echo x > /srv/x\nRUN rm /srv/x; mkdir /srv/x; touch /srv/x/y\nRUN rm -rf /srv/x; ln -s / /srv/x' },
  { title: 'hard links, xattrs and fifos of RUN', dockerfile: 'RUN echo a > /srv/a; ln /srv/a /srv/b; mkfifo /srv/p; mknod /srv/null c 1 3; chmod 2775 /srv; touch "/srv/new\nline"' },
];
