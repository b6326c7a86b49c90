package procwindows

import "strings"

// plainPath takes the prefix off a verbatim path: \\?\C:\x is C:\x, and
// \\?\UNC\server\share is \\server\share. Others stay.
func plainPath(path string) string {
	rest, ok := strings.CutPrefix(path, `\\?\`)
	switch {
	case !ok:
		return path
	case len(rest) >= 4 && strings.EqualFold(rest[:4], `UNC\`):
		return `\\` + rest[4:]
	case len(rest) >= 3 && rest[1] == ':' && rest[2] == '\\':
		return rest
	}
	return path // a volume or device without a letter
}

// verbatimPath puts the prefix before an absolute path, so that its length is
// not limited.
func verbatimPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	switch {
	case strings.HasPrefix(path, `\\?\`), strings.HasPrefix(path, `\\.\`):
		return path
	case strings.HasPrefix(path, `\\`):
		return `\\?\UNC` + path[1:]
	}
	return `\\?\` + path
}
