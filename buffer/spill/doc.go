// Package spill keeps the output that leaves memory in files, so that an
// execution's cursors still find it there.
//
// A [Store] is the folder of one server. A [File] is what one execution has in
// it: a queue of segments, each a file of its own, the oldest of which is given
// up when the limit of the execution or of the store is reached. Both streams
// share the segments, in the order in which they left memory; an index behind
// the output says what belongs to which stream and position.
//
//	DIR/                        YIELDSHELL_SPILL_DIR, shared by servers
//	    yieldshell-4f0c…/       one server's, mode 0700
//	        owner               locked as long as the server lives
//	        a97e81c9034f.1      a segment, mode 0600
//
// Folders and files are created exclusively. A lock, not a process id, says that
// an owner lives: the system frees it with the process, however that ends. A
// start removes the folders whose locks are free.
//
// Nobody waits for the disk but a goroutine that writes, one for each File while
// it has something to write. What is handed to it is in memory until it is
// written, and readable there. Only if that becomes too much does the command's
// output wait, and only for a bounded time. Whatever goes wrong with the disk
// turns spilling off for the one File, keeps what it has, and is told by Err.
//
// The package imports buffer, the standard library, gofrs/flock, which locks
// files on every system (flock, fcntl, LockFileEx), and on Windows x/sys, for the
// numbers of errors.
package spill
