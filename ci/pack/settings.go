package main

import "github.com/yieldshell/mcp-yieldshell/mcp/policy"

// setting is a variable of the server that a client may ask its user for. The
// README lists them all; these are the ones to think of at the installation.
type setting struct {
	variable string
	option   string // its name in a bundle's manifest
	kind     string // its type there
	title    string
	about    string
	initial  string // what a bundle starts with
}

func settings() []setting {
	return []setting{
		{
			policy.DefaultCwdVariable, "default_folder", "directory", "Default folder",
			"Where commands start that name no folder", "${HOME}",
		},
		{
			policy.AllowedCwdsVariable, "allowed_folders", "string", "Allowed folders",
			"Folders that commands must start in or below, separated by : (; on Windows); empty for any", "",
		},
		{
			policy.BlockedSideEffectsVariable, "blocked_side_effects", "string", "Blocked side effects",
			"Categories that are refused, separated by commas; empty for the default, a lone comma for none", "",
		},
		{
			policy.RedactVariable, "redact_variables", "string", "Variables to hide",
			"Expression for the names of variables whose values are hidden in output; empty for none", "",
		},
	}
}
