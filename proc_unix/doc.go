// Package procunix runs commands on POSIX systems and owns everything that
// they start.
//
// Each execution has a supervisor: this same program, started again, in a
// session of its own. The supervisor adopts every orphan below it (it is a
// child subreaper on Linux, a reaper on FreeBSD), starts the shell in a
// further session, and reports over a socket when the shell has ended, when
// the shell's session is empty and when nothing is left. When the socket
// closes, because the server has let go of it or has died, it ends the whole
// tree and itself. A supervisor whose tree is empty serves the next command.
//
//	server ── socket ── supervisor (adopts orphans)
//	   │                    └── shell (session leader)
//	   └──── three pipes ───────────┴── whatever it starts
//
// A program that imports the package becomes a supervisor when it is
// initialised, if it has been started as one: see keeper.
//
// What a system guarantees differs; Backend.Guarantees tells. On Linux the
// tree is exact, and the server adopts what a killed supervisor leaves. On
// FreeBSD the kernel keeps the tree as well. On macOS descendants are
// followed on a best-effort basis, and elsewhere only the shell's process
// group is owned.
//
// This package is the server's side: the pool of supervisors, one's hold on
// each, and the pipes. Below it are keeper, the supervisor's side; wire, what
// the two say to each other; tree, which finds and signals descendants; and
// sys, the system calls of Linux that package syscall lacks.
//
// It may import proc, those four, golang.org/x/sys/unix and the standard
// library.
package procunix
