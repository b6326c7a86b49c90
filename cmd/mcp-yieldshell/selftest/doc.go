// Package selftest tries a server for real, as a client would: it starts one,
// runs commands through it, stops a tree of processes, kills the server and
// looks whether anything is left.
//
// The processes of such a tree are this program once more (see Help). Each
// holds a connection to the test for as long as it lives, so that its end is
// an event and needs no looking.
//
// It imports the standard library, x/sys and the SDK.
package selftest
