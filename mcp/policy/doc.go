// Package policy decides whether a command may start. It holds the four checks
// of the specification: the declared side effects against the operator's
// blocklist ("Side-Effects Guide"), the command and an explicit shell against
// the allow and deny expressions ("Configuration Variables"), the working
// directory against the allowed roots ("Path Validation"), and the environment
// overlay ("Additive Environments").
//
// Every check answers nil or an error whose text is meant for the model that
// made the call: it names the argument, the rule and what to do instead.
// Nothing here starts a process, logs, or keeps state between calls. The file
// system is only read, and only to resolve working directories.
//
// policy imports the standard library and regexp2, and on Windows
// golang.org/x/sys/windows.
package policy
