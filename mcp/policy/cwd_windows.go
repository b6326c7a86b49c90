package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/windows"
)

var procRtlUpcaseUnicodeChar = windows.NewLazySystemDLL("ntdll.dll").NewProc("RtlUpcaseUnicodeChar")

// absolute puts a relative path behind base. Windows has two more kinds of
// relative path. A rooted one (`\work`) belongs to the drive or share of base.
// A drive-relative one (`C:work`) is taken from base when base is on that
// drive, and else from the drive's root: the per-drive current directory that
// the system would use is a hidden setting of whoever started the server.
func absolute(path string, base func() (string, error)) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := base()
	volume := filepath.VolumeName(path)
	if err != nil {
		if volume == "" || !errors.Is(err, errDirGone) {
			return "", err
		}
		dir = volume + `\`
	}
	rest := path[len(volume):]
	switch {
	case volume != "" && !strings.EqualFold(volume, filepath.VolumeName(dir)):
		dir = volume + `\`
	case volume == "" && rest != "" && os.IsPathSeparator(rest[0]):
		dir = filepath.VolumeName(dir)
	}
	// Clean by text is right here: Windows removes ".." before it looks at
	// links, see "Path normalization" in the documentation of file paths.
	return filepath.Clean(dir + `\` + rest), nil
}

// resolve asks the system for the path of the directory behind path, which
// settles links, junctions, short (8.3) names, case and trailing dots at once.
func resolve(path string) (string, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	final, err := finalPath(handle)
	if closeErr := windows.CloseHandle(handle); err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		// Some file systems (RAM disks, old network redirectors) cannot name
		// an open file.
		return filepath.EvalSymlinks(path)
	}
	return withoutPrefix(final), nil
}

func finalPath(handle windows.Handle) (string, error) {
	buffer := make([]uint16, windows.MAX_PATH)
	for {
		n, err := windows.GetFinalPathNameByHandle(handle, &buffer[0], uint32(len(buffer)), 0)
		if err != nil {
			return "", err
		}
		if int(n) < len(buffer) {
			return windows.UTF16ToString(buffer[:n]), nil
		}
		buffer = make([]uint16, n+1)
	}
}

// withoutPrefix turns the \\?\ form, which a process cannot start in, into the
// ordinary one.
func withoutPrefix(path string) string {
	if share, ok := strings.CutPrefix(path, `\\?\UNC\`); ok {
		return `\\` + share
	}
	rest, ok := strings.CutPrefix(path, `\\?\`)
	if ok && len(rest) >= 2 && rest[1] == ':' {
		return rest
	}
	return path
}

// plainPath is the absolute path to show and to start in when no roots bind.
func plainPath(path, _ string) string { return withoutPrefix(filepath.Clean(path)) }

// startPath is the path to start in when roots bind: where the check led, but
// on the drive that path names if that is a mapped share, since cmd starts in
// no network path.
func startPath(path, resolved string) string {
	drive := filepath.VolumeName(withoutPrefix(path))
	if !strings.HasPrefix(resolved, `\\`) || !strings.HasSuffix(drive, ":") {
		return resolved
	}
	share, err := resolve(drive + `\`)
	if err != nil {
		return resolved
	}
	return onDrive(drive, share, resolved)
}

// onDrive is resolved as seen on the drive that is mapped to share.
func onDrive(drive, share, resolved string) string {
	if !within(share, resolved) {
		return resolved // a link led elsewhere
	}
	return filepath.Clean(drive + `\` + resolved[len(share):])
}

// pathKey is what two paths to one place have in common: Windows ignores case.
// It has a table of its own for that, unit by unit, which knows fewer pairs than
// Unicode does: to it `ſ` is no `S`.
func pathKey(path string) string {
	units := utf16.Encode([]rune(path))
	for i, u := range units {
		if u >= utf8.RuneSelf {
			upper, _, _ := procRtlUpcaseUnicodeChar.Call(uintptr(u)) // cannot fail
			units[i] = uint16(upper)
		} else if 'a' <= u && u <= 'z' {
			units[i] = u - 'a' + 'A'
		}
	}
	return string(utf16.Decode(units))
}

// enterable leaves the answer to the start itself: access lists cannot be
// judged without repeating what the system does.
func enterable(string) error { return nil }

func isNotDirectory(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }
