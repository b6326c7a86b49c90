// Package edit changes single values in JSON, JSON with comments and TOML
// files that belong to somebody else. Everything that is not changed stays as
// it is, byte for byte: comments, order, indentation, line ends, a byte order
// mark, trailing commas.
//
// A parser only says where things are; the change is made in the text. After
// each change the result is parsed again and compared with what it must mean,
// and a change that does not come out right is refused and leaves the document
// as it was.
//
// It imports the standard library, hujson and go-toml.
package edit
