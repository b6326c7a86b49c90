// Package screen turns the output of a command into what a terminal would show
// of it in the end: a progress bar that was drawn five thousand times is one
// line, and colours are gone.
//
// A [Terminal] shows one stream. parser.go finds control sequences in text
// (ECMA-48, and what xterm's ctlseqs add), grid.go is the screen that they move
// and erase on, and terminal.go says what each piece of output has changed.
//
// It is a terminal for reading, not for an eye. Lines are as long as they are.
// Text without control characters comes out as it went in. Of a full-screen
// program it shows the last screen, and nothing once that program has gone back.
// The screen is 40 rows high and, for movements, 160 columns wide; each
// character takes one column.
//
// # Why it is our own
//
// The emulators that are kept were tried. They keep a grid of styled cells of
// fixed width, so that long lines wrap, blanks and tabs are lost, and nobody can
// tell where a line ended; one takes 4 MB for each, one starts goroutines and
// answers queries. The one made for logs, buildkite/terminal-to-html, prints
// sequences that it does not know, and brings html/template: 3.7 MB in the
// binary, and memory in each of the processes that watch over commands, whether
// anybody asks for text or not. What is needed here is less.
//
// The package imports the standard library only and keeps no state.
package screen
