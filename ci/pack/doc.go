// Command pack makes the packages of a release that goreleaser does not know:
// Python wheels, npm packages and MCP bundles that carry the binary, and the
// server.json of the MCP registry. It needs no network, and the same input
// gives the same bytes.
//
//	go run ./ci/pack target -os linux -arch amd64 -binary FILE ...
//	go run ./ci/pack release -checksums FILE ...
//	go run ./ci/pack schema -schema FILE server.json
//
// The first makes what belongs to one binary, and goreleaser runs it after each
// build. The second makes what names all of them, once the checksums are there.
// The third checks a document against a JSON schema. docs/releasing.md says
// what becomes of the files.
//
// It imports mcp for the names of the tools, and of the rest of the project
// nothing.
package main
