// Package buffer is what one execution keeps of its output.
//
// A [Log] holds the newest bytes of stdout and of stderr, each in a ring of
// its own, under one cursor: every byte has a position that both streams
// share, so that a reader can go on where it stopped and can see which stream
// spoke first. [Log.Page] reads forward from a position, [Log.Tail] reads the
// newest lines, [Log.Search] finds lines, and a [Watch] tells of output that
// matches an expression when it comes.
//
// A [Writer] stands between a pipe and a Log. It makes the bytes valid UTF-8
// and hides secrets ([Secrets]) before they get positions. So a Log holds
// whole characters only, a page counts real bytes, and no way of paging can
// put a secret together again. Where there are no secrets to hide, invalid
// bytes are only counted for what they will become, and replaced when somebody
// reads them.
//
// The package imports the standard library and lazydfa only, starts no
// goroutine but the callback of a watch's timer, and keeps no state but a pool
// of scratch memory.
package buffer
