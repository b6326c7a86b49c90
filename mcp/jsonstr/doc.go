// Package jsonstr writes JSON strings. Output is most of what the server sends,
// and each byte of it is quoted twice: in the structured content, and in the
// text that repeats it. So it is done eight bytes at a time.
// [JSON] is what both have in common.
//
// # Imports
//
// The standard library.
package jsonstr
