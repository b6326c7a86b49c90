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
// A program that imports the package becomes a supervisor in its init, if it
// has been started as one, before most of its other packages are initialised.
//
// What a system guarantees differs; Backend.Guarantees tells. On Linux the
// tree is exact, and the server adopts what a killed supervisor leaves. On
// FreeBSD the kernel keeps the tree as well. On macOS descendants are
// followed on a best-effort basis, and elsewhere only the shell's process
// group is owned.
//
// The server side is backend.go, pool.go, supervisor.go, process.go, pipe.go
// and shell.go; the supervisor's side is keeper.go, kill.go and, for each
// system, tree_*.go; wire.go is what they say to each other.
//
// It may import proc, golang.org/x/sys/unix and those packages of the standard
// library that do not depend on net: see init.go.
package procunix
