package clients

import (
	"path/filepath"
)

// Host is the system and the user whose clients are looked for.
type Host struct {
	// Home is the user's home directory.
	Home string
	// Config is where desktop programs keep their settings.
	Config string
	// XDG is where programs do that follow the XDG base directories on every
	// system.
	XDG string
	// Packages is where Windows keeps what belongs to packaged programs; empty
	// elsewhere.
	Packages string
	// Getenv returns the value of a variable, or nothing.
	Getenv func(string) string
}

// Unix is a user of Linux or a BSD, as the XDG base directory specification
// has it: a relative XDG_CONFIG_HOME counts as unset.
func Unix(home string, getenv func(string) string) Host {
	xdg := xdgConfig(home, getenv)
	return Host{Home: home, Config: xdg, XDG: xdg, Getenv: getenv}
}

// MacOS is a user of macOS.
func MacOS(home string, getenv func(string) string) Host {
	return Host{
		Home:   home,
		Config: filepath.Join(home, "Library", "Application Support"),
		XDG:    xdgConfig(home, getenv),
		Getenv: getenv,
	}
}

// Windows is a user of Windows.
func Windows(home string, getenv func(string) string) Host {
	roaming, local := getenv("APPDATA"), getenv("LOCALAPPDATA")
	if roaming == "" {
		roaming = filepath.Join(home, "AppData", "Roaming")
	}
	if local == "" {
		local = filepath.Join(home, "AppData", "Local")
	}
	return Host{
		Home:     home,
		Config:   roaming,
		XDG:      xdgConfig(home, getenv),
		Packages: filepath.Join(local, "Packages"),
		Getenv:   getenv,
	}
}

func xdgConfig(home string, getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// dirOr is the folder that a variable names, or another.
func (h Host) dirOr(variable, otherwise string) string {
	if dir := h.Getenv(variable); dir != "" {
		return dir
	}
	return otherwise
}
