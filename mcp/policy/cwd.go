package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The environment variables that govern where commands start.
const (
	DefaultCwdVariable  = "YIELDSHELL_DEFAULT_CWD"
	AllowedCwdsVariable = "YIELDSHELL_ALLOWED_CWDS"
)

// ParseRoots splits the value of YIELDSHELL_ALLOWED_CWDS at the system's list
// separator. Entries that are empty or blank are ignored; a value that holds
// nothing else is an error, since a list of roots without a root must not open
// everything. The empty value is a variable that is not set: no restriction,
// and no roots.
func ParseRoots(value string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	var roots []string
	for entry := range strings.SplitSeq(value, string(os.PathListSeparator)) {
		if strings.TrimSpace(entry) != "" {
			roots = append(roots, entry)
		}
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s is set to %s, which names no directory; list the allowed roots separated by %q, or unset it to allow every directory",
			AllowedCwdsVariable, quote(value), os.PathListSeparator)
	}
	return roots, nil
}

// Dirs decides in which directory a command starts. Nothing is looked up in
// advance: directories and roots may appear, move and vanish while the server
// runs, so every Resolve asks the file system. The zero value allows every
// directory and falls back to the server's own.
type Dirs struct {
	// Default is where a command without a cwd starts. Empty means the
	// directory that the server was started in.
	Default string
	// Roots are the directories that commands are kept in. None means that
	// every directory is allowed.
	Roots []string
	// Home is what a leading "~" stands for in Default, Roots and a cwd. Empty
	// leaves "~" as it is.
	Home string
	// Getwd tells the server's own directory; nil means os.Getwd.
	Getwd func() (string, error)
}

// errDirGone: the server's own directory has been removed under it.
var errDirGone = errors.New("the directory that the server was started in is gone")

// Resolve returns the directory that a command with this cwd argument starts
// in; "" is an argument that was left out. The result is absolute.
//
// A relative cwd is taken from the default directory, and a relative default
// from the server's own. A leading "~" (alone or before a separator) is the
// home directory; a directory of that name is "./~". The directory must exist
// and be one.
//
// With roots, traversal and symbolic links are resolved first, in the target
// and in every root, and the target must then be a root or lie below one. A
// root that does not exist allows nothing. The result is the resolved path, so
// that a link that is changed after the check is not followed again. Without
// roots the result is the path as it was given, made absolute and tidied; only
// one with ".." in it is resolved, as "link/.." is the parent of the link's
// target and not of the link.
//
// Errors name the argument, the value and the reason.
func (d Dirs) Resolve(cwd string) (string, error) {
	path, label, err := d.target(cwd)
	if err != nil {
		return "", fmt.Errorf("%s: %w", label, err)
	}
	if strings.Contains(path, "\x00") {
		return "", fmt.Errorf("%s %s must not contain a NUL character", label, quote(path))
	}
	resolved, err := realDir(path)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", label, quote(path), explain(err))
	}
	if len(d.Roots) == 0 {
		return plainPath(path, resolved), nil
	}
	if !d.allowed(resolved) {
		return "", fmt.Errorf("%s %s is not inside an allowed directory (%s); the allowed roots are: %s",
			label, quote(path), AllowedCwdsVariable, strings.Join(d.Roots, ", "))
	}
	return startPath(path, resolved), nil
}

// target returns the absolute, unresolved path that cwd asks for, and what to
// call it in an error.
func (d Dirs) target(cwd string) (path, label string, err error) {
	label = "cwd"
	if cwd == "" {
		if d.Default == "" {
			label = "cwd (the server's own directory)"
		} else {
			label = "cwd (from " + DefaultCwdVariable + ")"
		}
		path, err = d.defaultDir()
		return path, label, err
	}
	path, err = absolute(d.expandHome(cwd), d.defaultDir)
	return path, label, err
}

func (d Dirs) defaultDir() (string, error) {
	if d.Default == "" {
		return d.ownDir()
	}
	return absolute(d.expandHome(d.Default), d.ownDir)
}

func (d Dirs) ownDir() (string, error) {
	getwd := d.Getwd
	if getwd == nil {
		getwd = os.Getwd
	}
	dir, err := getwd()
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; pass an absolute cwd, or restart the server in an existing directory or with %s", errDirGone, DefaultCwdVariable)
	}
	if err != nil {
		return "", fmt.Errorf("the directory that the server was started in cannot be told: %w", err)
	}
	return dir, nil
}

// allowed tells whether the resolved path is a root or lies below one.
func (d Dirs) allowed(resolved string) bool {
	for _, root := range d.Roots {
		path, err := absolute(d.expandHome(root), d.ownDir)
		if err != nil {
			continue
		}
		if real, err := realDir(path); err == nil && within(real, resolved) {
			return true
		}
	}
	return false
}

func (d Dirs) expandHome(path string) string {
	if d.Home == "" || !strings.HasPrefix(path, "~") {
		return path
	}
	if len(path) > 1 && !os.IsPathSeparator(path[1]) {
		return path
	}
	return d.Home + path[1:]
}

// within tells whether path is root or lies below it, both resolved. Whole
// components are compared, so that /srv/work-old is not below /srv/work.
func within(root, path string) bool {
	root, path = pathKey(root), pathKey(path)
	if root == path {
		return true
	}
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator)
	}
	return strings.HasPrefix(path, root)
}

// realDir resolves path as the system would and makes sure that a process can
// start there.
func realDir(path string) (string, error) {
	resolved, err := resolve(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errNotDirectory
	}
	return resolved, enterable(resolved)
}

var errNotDirectory = errors.New("is not a directory")

// explain puts the reason why a directory cannot be used into words. The
// system's own text repeats the path, or says "no such file".
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the directory does not exist (%w)", cause(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permission to enter the directory is denied (%w)", cause(err))
	case errors.Is(err, errNotDirectory), isNotDirectory(err):
		return errNotDirectory
	}
	return cause(err)
}

// cause strips the operation and the path from a file system error.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
