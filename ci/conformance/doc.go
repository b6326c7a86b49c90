//go:build unix

// Command conformance serves the seven tools over streamable HTTP on a port of
// the loopback interface, for the official conformance suite, which speaks
// nothing else. It is a test program: nothing that is released listens on a
// port.
//
//	go run ./ci/conformance
//
// It prints the address of the endpoint and serves until its stdin ends. The
// endpoint speaks every protocol version: sessions with a handshake, and the
// stateless ones.
package main
